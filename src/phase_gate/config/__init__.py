"""Files that people write, as values: configuration, workflows, criteria. A fault is told with its line and column.

May read files; imports YAML only where there is something to read. Begin with `configuration` and `workflow`.
"""
