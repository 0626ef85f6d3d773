"""A threshold of coverage: pytest-cov with `--cov-fail-under`."""

from collections.abc import Sequence

from bench.honesty.gates import Gate
from tests.scenarios import Step


class Coverage(Gate):
    name = "coverage"
    title = "pytest-cov, 90 % or more"
    packages = ("pytest-cov",)
    plugins = ("pytest_cov.plugin",)
    order = 6

    def options(self, step: Step) -> Sequence[str]:
        return ("--cov=.", "--cov-fail-under=90")


GATE = Coverage()
