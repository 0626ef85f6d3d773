# round up or down?
def price_with_tax(price):
    return round(price * 1.2, 2)
