"""The Gaussian integrals of erf that the proofs of the paper rest on, under the labels they are believed to have."""

from theorem_engine import Interval, Output, Source, lemma
from theorem_engine.registry.gaussian.notation import g, t


@lemma(
    "marion2025.erf-integrals",
    title="Means of erf of a Gaussian, of its square, and against the Gaussian",
    source=Source("2410.01537", "Lemmas 6-7", guessed=True),
    aliases=("marion2025.lemma-6", "marion2025.lemma-7"),
    given=(t, g),
    outputs={
        "mean": Output("E erf(t + g G)", Interval(-1, 1)),
        "square": Output("E erf(t + g G)^2", Interval(0, 1)),
        "pull": "E G erf(t + g G)",
    },
    needs={"mean": "gaussian.erf-mean", "square": "gaussian.erf-square", "moments": "gaussian.erf-moments"},
    assumes=("G is standard normal",),
    checks=("marion2025_lemmas.erf_integrals",),
    marks="DVG",
    notes=(
        "Which of these is Lemma 6 and which Lemma 7, and in what form, is a guess: the proof of Theorem 1 needs all "
        "three. Derivations and identities stand with the entries of gaussian.",
    ),
)
def erf_integrals(m, *, mean, square, moments):
    """E erf(t + g G) = erf(t/sqrt(1 + 2 g^2)), the mean square zeta, and Stein's identity."""
    return {"mean": mean.at(m), "square": square.at(m), "pull": moments.first.at(m)}
