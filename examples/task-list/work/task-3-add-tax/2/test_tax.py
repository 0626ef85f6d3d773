from tax import with_tax


def test_whole_cents():
    assert with_tax(1000, 19) == 1190


def test_half_a_cent_goes_up():
    assert with_tax(50, 1) == 51
