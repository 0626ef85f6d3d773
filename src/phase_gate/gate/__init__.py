"""The engine: state, events, order of phases, evaluation, breaker, signals. Pure functions and frozen values.

No files, no clock, no environment, no pytest; time and ids are arguments. Begin with `run_end`,
then `judging` and `events`.
"""
