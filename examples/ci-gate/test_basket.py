from basket import Basket


def test_an_empty_basket_costs_nothing():
    assert Basket().total() == 0


def test_prices_are_added_up():
    assert Basket(2, 3).total() == 5
