"""What runs inside a sandbox, in the process of the tests. It imports nothing of ours, and is never imported from here.

Each sandbox gets a copy of this folder under a random name, with its order. Once loaded, the copy is gone, and neither
a module, a path nor a variable of ours is left: code that asks whether it runs in a sandbox should find as little as
possible. It only sends facts: `phase_gate.proof.testing` says what they mean. Begin with `reporter`.
"""
