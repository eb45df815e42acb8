"""Large tables of cases: a few of them in every run, all of them in the campaign."""

import itertools
import random

import pytest


def thinned(cases, keep):
    """All cases; ``keep`` of them, spread by a fixed draw, run always, the others in the campaign."""
    cases = list(cases)
    always = set(random.Random(0).sample(range(len(cases)), min(keep, len(cases))))
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=() if i in always else pytest.mark.campaign)
        for i, case in enumerate(cases)
    ]


def every(*columns):
    """All combinations, as cases."""
    return list(itertools.product(*columns))
