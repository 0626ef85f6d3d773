"""Every parser against bytes that nobody meant for it."""
