from datetime import timedelta


def due(borrowed, is_new):
    return borrowed + timedelta(days=14 if is_new else 28)


def fee(days_late):
    return min(days_late * 20, 500)
