"""What tests of declarations share."""

import pytest

from theorem_engine import Source
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import result
from theorem_engine.registry.marion2025 import risk as _somewhere


@pytest.fixture
def declared():
    """Declares entries with one output "value", taken out again afterwards."""
    made = []

    def make(id, body, **facts):
        body.__module__ = _somewhere.__name__
        body.__doc__ = body.__doc__ or "A test."
        entry = result(id, title=id, source=Source("2410.01537"), **{"outputs": {"value": "v"}, **facts})(body)
        made.append(entry)
        return entry

    yield make
    for entry in made:
        catalogue.forget(entry)
