"""Read the files that users write: configuration, workflows, criteria. Every error has a line and a column.

May read files, and imports YAML only when there is a file to read. Begin with `configuration` and `workflow_files`.
"""
