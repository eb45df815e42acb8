"""`make bench`: every ratio the project promises, measured now."""

from benchmarks import descent, queries, simulators

if __name__ == "__main__":
    for suite in (queries, descent, simulators):
        suite.report()
