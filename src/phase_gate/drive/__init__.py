"""Drive agents through a workflow: prompt, agent, our own test run, verdict. Repeat until done, over budget or stuck.

Starts processes, and reads and writes the state through `decisions`. Prints nothing. Begin with `loop`.
"""
