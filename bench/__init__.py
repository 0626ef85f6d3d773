"""What the plugin costs (`python -m bench`), and gates against gaming side by side (`python -m bench honesty`)."""
