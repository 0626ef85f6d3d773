"""Evidence beside the tests: each provider measures one kind of thing, says unknown where it could not look, and never
guesses. A provider runs only where the phase's rules speak of what it measures."""
