"""Tests of `phase_gate.proof`."""
