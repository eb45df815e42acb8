"""Entries against simulators that never saw them: evidence, verdicts, campaigns, mutants."""
