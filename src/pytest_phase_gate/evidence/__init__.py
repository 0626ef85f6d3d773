"""What is measured beside the tests: each provider gives metrics."""
