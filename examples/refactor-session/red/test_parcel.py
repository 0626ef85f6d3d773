from parcel import domestic, abroad


def test_light_parcel():
    assert domestic(weight=1, express=False, member=False) == 5


def test_heavy_parcel():
    assert domestic(weight=12, express=False, member=False) == 15


def test_express_and_member():
    assert domestic(weight=1, express=True, member=True) == 9


def test_abroad():
    assert abroad(weight=1, express=False, member=False) == 12
    assert abroad(weight=12, express=True, member=True) == 27
