"""Rules: pure functions and frozen values. No files, no clock, no environment, no pytest."""
