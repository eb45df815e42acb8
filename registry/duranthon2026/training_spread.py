"""How far the risk of one training set lies from that of another: the error bar at given N and D."""

from sympy import Integer, sqrt

from theorem_engine import NONNEGATIVE, Integers, Limit, Output, Source, result
from theorem_engine.registry.duranthon2026.notation import MODEL, L, delta, nu, task, var
from theorem_engine.registry.duranthon2026.slopes import FINITE

samples = var("N", "N", "sequences in the training set", Integers(1), typical=(2000, 20_000))
dimension = var("D", "D", "dimension of a token", Integers(2), typical=(50, 500))


@result(
    "duranthon2026.training-spread",
    title="How much the test risk of softmax attention differs between training sets",
    source=Source("2509.21936", "behind Result 5.1", guessed=True),
    given=(task, nu, L, delta, samples, dimension),
    outputs={
        "spread": Output("standard deviation of the test risk over training sets", NONNEGATIVE),
        "excess": Output("mean of the test risk over training sets, less the Bayes risk", NONNEGATIVE),
    },
    needs={"cost": "duranthon2026.learning-coefficient"},
    assumes=(*MODEL, "empirical risk minimisation with softmax weights near its population minimum"),
    regime=Limit(
        grows=(samples, dimension), words="N/D -> oo, then D -> oo", correction="relative, of order D/N and 1/D"
    ),
    requires=(FINITE,),
    checks=("duranthon2026_slopes.spread_of_sets",),
    marks="DVNE",
    notes=(
        "Ours. To first order in D/N the components of k and v beside k* and v* are independent normal numbers, D of "
        "each, whose squares cost what learning-coefficient says: the excess is a sum of chi-squared numbers.",
        "The spread is that of one training set: a curve of means over n sets has the error bar spread/sqrt(n). The "
        "minimisers' risk is to be known exactly; measured on M fresh sequences it has their noise too.",
        "At a few samples per dimension it is too large. Whole training sets at D = 40 (spiked, nu = 2, L = 3, "
        "Delta = 0.3, ridge strengths 0.3) had 1.06(7) times this spread at N = 40 D, 0.88(5) at 10 D and 0.75(4) at "
        "4 D.",
    ),
)
def training_spread(m, *, cost):
    """Excess (key + value) D/N, and its variance 2 (key^2 + value^2) D/N^2.

    The gradients in k and v are uncorrelated: changing the sign of z* and z changes that of one of them alone.
    """
    share = dimension / samples
    return {
        "spread": share * sqrt(Integer(2) * (cost.key.at(m) ** 2 + cost.value.at(m) ** 2) / dimension),
        "excess": share * cost.coefficient.at(m),
    }
