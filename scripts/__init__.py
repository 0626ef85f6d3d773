"""Programs of this repository: what writes and publishes the docs, and what tries the suites of others."""
