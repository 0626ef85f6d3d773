"""pytest's exit code, as in most pipelines and agent loops."""

from bench.honesty.gates import Gate


class Bare(Gate):
    name = "bare"
    title = "pytest's exit code"
    order = 1


GATE = Bare()
