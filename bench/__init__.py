"""What the plugin costs, beside bare pytest and others that keep a record. `python -m bench --help`.

`python -m bench.walk` counts instead: the modules, state openings and processes of a run and of some commands.
"""
