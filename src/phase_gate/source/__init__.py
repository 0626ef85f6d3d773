"""What Python source says about tests: which there are, their bodies, what they check. Pure: text in, values out.

May touch nothing else. Begin with `tests` (which tests a file has) and `body_hash` (when two are the same).
"""

#: The mark of a test that guards what works already.
PASSES_ALREADY = "passes_already"
