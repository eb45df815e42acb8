"""`make bench`: every ratio the project promises, measured now."""

from benchmarks import descent, finite_sample, interpolation, population, queries, simulators

if __name__ == "__main__":
    for suite in (queries, descent, interpolation, population, simulators, finite_sample):
        suite.report()
