"""What pytest shows us about a run, turned into one record."""
