"""pytest with every strict setting on its command line."""

from collections.abc import Sequence

from bench.honesty.gates import Gate
from tests.scenarios import Step


class Strict(Gate):
    name = "strict"
    title = "pytest, strict settings"
    order = 2

    def options(self, step: Step) -> Sequence[str]:
        strict = ("--strict-markers", "--strict-config", "-W", "error", "-p", "no:cacheprovider")
        return (*strict, "-o", "xfail_strict=true", "-o", "empty_parameter_set_mark=fail_at_collect")


GATE = Strict()
