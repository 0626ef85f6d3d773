"""Behaviour kept: functions that a refactoring changed, called with fresh inputs in the code as it was and as it is.

May start processes in rooms and read the project; writes nothing of the user's. Begin with `experiment`.
"""
