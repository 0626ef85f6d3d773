"""Whether what pytest reports is what the tests did: patched internals, replaced results, code that never ran.

Costly watches only where a foreign hook makes them necessary. Begin with `outcomes`.
"""
