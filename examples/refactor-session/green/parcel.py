import os


def domestic(weight, express, member):
    if weight > 0:
        if weight <= 2:
            price = 5
        else:
            if weight <= 10:
                price = 9
            else:
                price = 15
        if express:
            if member:
                price = price + 4
            else:
                price = price + 6
    else:
        raise ValueError("a parcel has a weight")
    return price


def abroad(weight, express, member):
    if weight > 0:
        if weight <= 2:
            price = 12
        else:
            if weight <= 10:
                price = 18
            else:
                price = 23
        if express:
            if member:
                price = price + 4
            else:
                price = price + 6
    else:
        raise ValueError("a parcel has a weight")
    return price
