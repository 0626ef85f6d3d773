"""A run of a task, from its start record to its end record, without pytest.

A session passes its `Hello` (the request) and its `Document` (the result). This package may use files and the clock;
`gate` evaluates the run. Begin with `sessions`, then `recorder` and `ending`.
"""
