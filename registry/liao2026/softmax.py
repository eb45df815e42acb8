"""Row-wise softmax attention."""

from dataclasses import replace

from theorem_engine import Source, remark
from theorem_engine.base.errors import MissingParameter
from theorem_engine.language.domains import Switch
from theorem_engine.registry.liao2026.finite_size import FAR_SOFTMAX
from theorem_engine.registry.liao2026.model import ASSUMED, LIMIT, SOFTMAX
from theorem_engine.registry.liao2026.notation import WORK, gamma, var
from theorem_engine.registry.liao2026.resolvent import ERROR

masked = var("masked", r"\mathrm{masked}", "whether a token is kept from attending to itself", Switch(), default=True)
scaled = var(
    "scaled", r"\mathrm{scaled}", "whether the masked softmax is multiplied by n/sqrt(p)", Switch(), default=True,
    typical=("true",),
)  # fmt: skip


@remark(
    "liao2026.softmax",
    title="Interpolation error of row-wise softmax attention",
    source=Source(WORK, "Remark 1", version="v2"),
    model=SOFTMAX,
    given=(gamma, masked, scaled),
    outputs={"error": ERROR},
    needs={"attention": "liao2026.interpolation-error", "ridge": "liao2026.ridge-error"},
    assumes=(ASSUMED[0], "the labels are balanced"),
    regime=replace(
        LIMIT,
        correction="of order 1/sqrt(p), with a next one of order 1/p that is not small: measured in all like p^(-0.7), "
        "for the exponential has heavy tails; at c = 1, gamma = 1, p = 1600 simulations give 0.5245 against 0.5193",
    ),
    warns=(FAR_SOFTMAX,),
    checks=("liao2026.softmax_error",),
    marks="DV",
    notes=(
        "The logits X^T X/sqrt(p) have a diagonal of size sqrt(p): plain softmax tends to the identity matrix, and "
        "attention degenerates to ridge regression on the tokens; `scaled` then changes nothing here.",
        "Masked, n/sqrt(p) times the softmax, less its mean, acts as f(t) = e^(t - 1/2) - 1: a1 = 1, "
        "second moment e - 1.",
        "Without the factor n/sqrt(p) the penalty acts as gamma n^2/p, so that the error tends to one at fixed gamma; "
        "it is computed at the given p and n.",
    ),
)
def softmax(m, *, attention, ridge):
    """Softmax attention is entry-wise attention with an exponential, once a token cannot attend to itself."""
    if not m.masked:
        return {"error": ridge.at(m)}
    if m.scaled:
        return {"error": attention.at(m)}
    if m.p is None:
        raise MissingParameter("liao2026.softmax needs p and n with scaled=False: the penalty acts as gamma n^2/p")
    return {"error": attention.at(m, gamma=m.gamma * m.n**2 / m.p)}
