"""In front of the path, this takes the extra `mcp` away: whoever imports it finds that it can't be imported."""

raise ImportError("No module named 'mcp'")
