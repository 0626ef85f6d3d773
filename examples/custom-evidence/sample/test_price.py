from price import price_with_tax


def test_tax_is_added():
    assert price_with_tax(10) == 12
