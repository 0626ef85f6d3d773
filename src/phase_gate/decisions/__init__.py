"""What a command changes about a task: one module a decision. Each locks the task, judges, records and returns a value.

May read and write the state, and ask features for evidence; prints nothing. Begin with `signalling`.
"""
