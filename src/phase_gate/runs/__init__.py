"""A run of a task, from its start record to its end record, without pytest.

`recorder.Recorder` begins with a `Hello` and ends with a `Document`: what a session asked for, and what it showed.
May touch files and the clock; what a run means is the business of `gate`.
"""
