"""The fingerprint of the sources: by git where there is one, by a walk where there is none.

Looking runs no program of the repository's. Begin with `fingerprint`.
"""
