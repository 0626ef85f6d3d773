"""Changes of a task, one module per decision. Each locks the task, evaluates, records, and returns a value.

Reads and writes the state, and asks features for evidence. Prints nothing. Begin with `signalling`.
"""
