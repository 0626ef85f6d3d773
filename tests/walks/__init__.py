"""Random walks of ordinary actions, and an honest finisher that has to find the exit from wherever they end.

A short sample is in the suite; `python -m tests.walks` takes as many as you like.
"""
