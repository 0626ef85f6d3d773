"""Work beyond a cycle of tests: verify tasks (executor, verify command, reviewer) and pipelines (phases that require
artifacts, checks and a consensus).

Begin with `model` and `events`: both are `Work`, with attempts, words of reviewers and failures, and one part of the
state. `steps` and `pipeline_steps` have a transaction for each step; what is handed in is read by `handins`.
"""
