"""Discounts."""


def discounted(cents, percent):
    """Return what is left of a price."""
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} % is no discount")
    return cents - cents * percent // 100
