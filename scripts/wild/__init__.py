"""Does the gate stay quiet on software of others? `python -m scripts.wild` downloads suites and runs them."""
