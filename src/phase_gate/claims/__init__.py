"""What an agent says about its work, weighed against what was measured.

May read the text of a claim; measurements come from the recorded runs. Begin with `decision`.
"""
