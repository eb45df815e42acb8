"""Errors and warnings that users meet."""

import inspect

import pytest

import theorem_engine as te
from theorem_engine.base import errors


def test_every_error_that_a_user_can_meet_has_a_public_name():
    """Errors of declarations share one: their author reads the sentence."""
    raised = [
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, errors.TheoremEngineError | Warning) and cls.__module__ == errors.__name__
    ]
    inner = [cls for cls in raised if cls.__name__ not in te.__all__]
    assert all(issubclass(cls, errors.DeclarationError | errors.JournalError) for cls in inner), inner
    assert all(getattr(te, cls.__name__) is cls for cls in raised if cls not in inner)


def test_an_error_is_met_by_its_public_name_and_as_the_builtin():
    for expected in (te.OutOfDomain, te.TheoremEngineError, ValueError):
        with pytest.raises(expected):
            te.predict("gaussian.erf-mean", t=0, g=-1)
