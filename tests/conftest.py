"""Settings shared by all tests: fixed seeds for hypothesis, one thread per worker, which tests share a process."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from theorem_engine.language.entry import Entry  # noqa: E402

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("fixed")

#: Files whose tests share a process of their own making; apart from each other each would start it anew.
TOGETHER = ("test_fuzz.py", "test_edges.py")


def pytest_collection_modifyitems(items):
    """Tests of one entry go to one worker, whatever file they stand in, so that its equations are compiled once."""
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        entries = [value.id for value in values if isinstance(value, Entry)]
        group = entries[0] if entries and item.path.name not in TOGETHER else item.location[0]
        item.add_marker(pytest.mark.xdist_group(group))
