"""What other code in the process can do to a run: outcomes that are not the tests' own, names that tests left patched.

Nothing here traces or profiles. Begin with `outcomes`.
"""
