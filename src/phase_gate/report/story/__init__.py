"""A task's whole history as values, for the long reports. Begin with `model`, then `builder`."""
