"""What a basket costs once a voucher is taken off."""


def total(prices, voucher=0):
    """Return the sum in cents; a voucher never makes it less than nothing."""
    return max(0, sum(prices) - voucher)
