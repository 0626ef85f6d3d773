__version__ = "0+unknown"
