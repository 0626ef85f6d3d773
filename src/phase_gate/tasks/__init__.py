"""Work beyond a cycle of tests: verify tasks (executor, verify command, reviewer) and pipelines (phases that require
artifacts, checks and a consensus).

Begin with `model` and `events` for verify tasks, with `pipeline` and `routing` for pipelines. Both hand in through
`handins`.
"""
