#!/bin/sh
# Exit 0 if Gate 1 of GREEN is open, otherwise the code that says why not.

pytest --phase=green --phase-confirm --phase-report=verdict.json --phase-report=verdict.md "$@"
status=$?

case $status in
  0) ;;
  10) echo "gate closed: the tests pass, and that is not enough; see verdict.md" >&2; exit 10 ;;
  11) echo "the record can't be trusted: see phase-gate audit" >&2; exit 11 ;;
  *) echo "pytest ended with $status" >&2; exit "$status" ;;
esac

# The status of a process can be changed by whatever ends last in it. The record can't, so ask that, too.
phase-gate check --gate1
