"""Drive an agent through a workflow: prompt, agent, our own run of the tests, verdict, until done, budget or a person.

Starts processes, reads and writes the state through `decisions`; prints nothing. Begin with `loop`.
"""
