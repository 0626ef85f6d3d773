"""Work beyond a cycle of tests: verify tasks (executor, verify command, reviewer) and pipelines (phases that require
artifacts, checks and a consensus).

Begin with `work` and `state_extension`: both kinds are `Work`, with attempts, review results and failures, in one part
of the state. `steps` and `pipeline_steps` have a transaction for each step. `handins` reads reports and verdicts.
"""
