"""Rooms: copies of the project in which some files are laid out and others are left out; what runs in them.

May start processes and read the project; writes nothing of the user's. Begin with `room`.
"""
