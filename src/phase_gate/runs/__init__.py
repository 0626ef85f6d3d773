"""A run of a task, from its start record to its end record, without pytest.

A session says `Hello` and hands in its `Document`: what it asks for, and what it showed. May touch files and the clock;
what a run means is the business of `gate`. Begin with `sessions`, then `recorder` and `ending`.
"""
