"""`make bench`: every ratio the project promises, measured now."""

from benchmarks import descent, queries

if __name__ == "__main__":
    for suite in (queries, descent):
        suite.report()
