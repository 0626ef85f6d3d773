"""Discounts."""


def discounted(cents, percent):
    """Return what is left of a price."""
    return max(0, cents - cents * percent // 100)
