def due(borrowed, is_new):
    raise NotImplementedError


def fee(days_late):
    raise NotImplementedError
