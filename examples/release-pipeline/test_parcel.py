from parcel import price


def test_a_parcel_of_two_kilograms():
    assert price(2) == 500


def test_a_heavy_parcel_costs_a_surcharge():
    assert price(30) == 4300
