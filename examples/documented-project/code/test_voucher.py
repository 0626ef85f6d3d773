from voucher import total


def test_prices_are_added_up():
    assert total([250, 199]) == 449


def test_a_voucher_is_taken_off():
    assert total([250, 199], voucher=100) == 349


def test_nobody_gets_money_for_shopping():
    assert total([50], voucher=100) == 0
