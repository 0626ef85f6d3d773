"""What the plugin costs, beside bare pytest and others that keep a record. `python -m bench --help`."""
