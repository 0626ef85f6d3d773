"""Mermaid diagrams of all kinds, and what Mermaid itself says about each: `python -m tests.diagrams` asks it anew."""
