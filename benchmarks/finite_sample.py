"""Learning from finitely many samples: seconds of a point, of a tuned point, and of the theory of Figure 3."""

import math
import warnings
from contextlib import contextmanager

import theorem_engine as te
from benchmarks.timing import best, line
from theorem_engine.backends.float64 import proximal_code
from theorem_engine.base.errors import ValidityWarning

ERM, TUNED = "duranthon2026.erm-risk", "duranthon2026.erm-tuned"
POINT = {"L": 3, "alpha": 4, "draws": 2**14}
SPIKED, MAX = {"task": "spiked", "nu": 1}, {"task": "max", "nu": "inf"}
#: Setting, ridge strengths, seconds promised for a point with 2^14 draws.
POINTS = {
    "linear, spiked": ({**SPIKED, "activation": "linear", "r_k": 1, "r_v": 8}, 0.1),
    "linear, max": ({**MAX, "activation": "linear", "r_k": 1, "r_v": 8}, 0.1),
    "softmax, spiked": ({**SPIKED, "activation": "softmax", "r_k": "0.6", "r_v": "0.8"}, 1),
    "softmax, max": ({**MAX, "activation": "softmax", "r_k": "0.8", "r_v": 1}, 1),
}


@contextmanager
def without_machine_code():
    """Proximal points by NumPy alone."""
    known = proximal_code.WORTH_COMPILING
    proximal_code.WORTH_COMPILING = math.inf
    try:
        yield
    finally:
        proximal_code.WORTH_COMPILING = known


def report():
    """Seconds, and how much machine code gains over NumPy alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        for name, (setting, wanted) in POINTS.items():
            te.predict(ERM, **POINT, **setting)
            seconds = best(lambda s=setting: te.predict(ERM, **POINT, **s), 3)
            line(f"erm-risk at 2^14 draws, L = 3, {name}, seconds", f"{seconds:.2f}", f"wanted: at most {wanted}")
        for kind in ("linear, spiked", "softmax, spiked"):
            setting = POINTS[kind][0]
            quick = best(lambda s=setting: te.predict(ERM, **POINT, **s), 3)
            with without_machine_code():
                plain = best(lambda s=setting: te.predict(ERM, **POINT, **s), 1)
            line(f"the point {kind} in NumPy alone over that with numba", f"{plain / quick:.1f}")
        for name, setting in (("softmax, spiked", SPIKED), ("softmax, max", MAX)):
            seconds = best(lambda s=setting: te.predict(TUNED, L=3, alpha=4, activation="softmax", **s), 1)
            line(f"erm-tuned at 2^14 draws, {name}, seconds", f"{seconds:.1f}", "wanted: at most 20")
