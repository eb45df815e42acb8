"""`make bench`: every ratio the project promises, measured now."""

from benchmarks import cluster, descent, finite_sample, interpolation, population, queries, simulators

if __name__ == "__main__":
    for suite in (queries, cluster, descent, interpolation, population, simulators, finite_sample):
        suite.report()
