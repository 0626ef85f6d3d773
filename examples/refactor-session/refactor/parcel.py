"""What a parcel costs."""

DOMESTIC = ((2, 5), (10, 9), (None, 15))
ABROAD = ((2, 12), (10, 18), (None, 23))
EXPRESS, EXPRESS_FOR_MEMBERS = 6, 4


def domestic(weight, express, member):
    return _price(DOMESTIC, weight) + _surcharge(express, member)


def abroad(weight, express, member):
    return _price(ABROAD, weight) + _surcharge(express, member)


def _price(steps, weight):
    if weight <= 0:
        raise ValueError("a parcel has a weight")
    return next(price for limit, price in steps if limit is None or weight <= limit)


def _surcharge(express, member):
    if not express:
        return 0
    return EXPRESS_FOR_MEMBERS if member else EXPRESS
