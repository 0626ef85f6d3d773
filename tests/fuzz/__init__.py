"""Every parser against bytes that it was not made for."""
