"""A loop around an agent. It decides nothing: every decision is an exit code."""

import itertools
import subprocess
import sys

from agent import answer

DONE, GO_ON = 0, 10


def call(*words, **options):
    return subprocess.run(words, check=False, **options).returncode


def main():
    for turn in itertools.count(1):
        said = answer()
        call("pytest", "--phase=work", "-q", "--tb=no", stdout=subprocess.DEVNULL)
        decision = call("phase-gate", "claim", "-", input=said.encode(), stdout=subprocess.DEVNULL)
        print(f"turn {turn}: {decision}", flush=True)
        if decision == DONE:
            return call("phase-gate", "signal", "--reason", "the claim is true", stdout=subprocess.DEVNULL)
        if decision != GO_ON:
            return decision


if __name__ == "__main__":
    sys.exit(main())
