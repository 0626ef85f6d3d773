"""Real histories, taken step by step: the parent's code with a commit's tests is RED, with its code it is GREEN."""
