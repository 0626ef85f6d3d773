import pytest
from basket import Basket


def test_an_empty_basket_costs_nothing():
    assert Basket().total() == 0


def test_prices_are_added_up():
    assert Basket(2, 3).total() == 5


@pytest.mark.parametrize("price", range(1, 9))
def test_one_price(price):
    assert Basket(price).total() == price


@pytest.mark.parametrize("times", range(2, 5))
def test_the_same_price_again(times):
    assert Basket(*[3] * times).total() == 3 * times
