"""The fingerprint of the sources, listed by git, or by walking the folder without git.

Never runs a program that the repository names. Begin with `fingerprint`.
"""
