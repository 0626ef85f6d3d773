"""Compare an agent's claims about its work with measurements.

May read the text of a claim; measurements come from the recorded runs. Begin with `decision`.
"""
