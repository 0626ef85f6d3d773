"""In front of the path, this takes the extra `quality` away: whoever imports it finds that it can't be imported."""

raise ImportError("No module named 'ruff'")
