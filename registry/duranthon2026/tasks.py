"""The two tasks: how the hidden position is tied to the tokens, and the means that follow.

Spiked: the hidden token carries a mark, its score chi* is shifted by sqrt(nu). Max: the tokens carry none, and the
position is drawn from p = softmax(nu chi*) given all of them; a mean at the hidden position is one weighted with p.
At nu = oo the position of the max task is the argmax, a task of its own here.
"""

from sympy import Eq, Integer, Ne, exp, oo, sqrt

from theorem_engine import GaussianMean, Hardmax, Holds, LengthMean, Tokens, TokenSort, normal_cdf
from theorem_engine.registry.duranthon2026.choice import TokenFront
from theorem_engine.registry.duranthon2026.finite_sample_notation import draw, score
from theorem_engine.registry.duranthon2026.notation import L, nu, p, p_2, x, y

FINITE_SPIKE = Holds(
    Ne(nu, oo), "the signal of the spiked task is finite; nu=inf is the argmax of the max task", only=("task", "spiked")
)


class Spiked:
    """The hidden token is shifted: chi* has the mean sqrt(nu) there."""

    #: Whether sums over tokens tell the hidden one from the others.
    is_marked = True
    #: Slope of the log posterior in chi*, the temperature at which softmax weights are the posterior.
    c_nu = sqrt(nu)
    #: How far the mean of chi* at the hidden position is shifted.
    shift = sqrt(nu)
    #: Order of the slopes at which weights are best.
    scale = sqrt(nu)

    def posterior(self):
        """Tokens that compete for the posterior probability p of being the hidden one, p = softmax(c_nu chi*)."""
        return Tokens(L, (x,), {p: (self.c_nu * x, self.c_nu * x + self.c_nu * self.shift)})

    def bayes_risk(self):
        """1 - E sum p^2 without cancellation: the posterior probability of tokens that are not the hidden one."""
        return self.posterior().mean(hidden=1, each=(p,))

    def posterior_square(self):
        """E sum p^2."""
        return self.posterior().mean(hidden=p**2) + self.posterior().mean(hidden=1, each=(p**2,))

    def signal_at(self, square):
        """The signal nu at which c_nu^2 has this value."""
        return square

    def lead(self):
        """Mean of chi* at the hidden position, less that of the whole sequence."""
        return self.shift * (1 - LengthMean(1 / L, L))

    def rise(self):
        """First-order mean of the hidden score over the scale, beyond what the sum over tokens sees of it."""
        return 1 - 1 / LengthMean(L, L)

    def bend(self):
        """Second-order mean of its square, less one, over that of its rise squared."""
        mean_length = LengthMean(L, L)
        return (mean_length - 2) / (mean_length - 1)

    def own_posterior(self, score):
        """Probability that a token with this chi* is the hidden one, for one who sees that token alone."""
        return 1 / (1 + (LengthMean(L, L) - 1) * exp(self.shift**2 / 2 - self.shift * score))


class Blind(Spiked):
    """No signal: the hidden token is like all others, and the tasks are one."""

    c_nu = shift = Integer(0)
    scale = Integer(1)


class Max:
    """All tokens are standard normal; the hidden position is drawn from softmax(nu chi*)."""

    is_marked = False
    c_nu = nu
    shift = Integer(0)
    scale = nu
    #: Logarithm of what a token puts into the softmax.
    kernel = nu * x

    def posterior(self):
        """Tokens that compete for the posterior probability p of being the hidden one."""
        return Tokens(L, (x,), {p: self.kernel})

    def bayes_risk(self):
        """1 - E sum p^2 without cancellation: two tokens share the probability."""
        return self.posterior().mean(each=(p, p))

    def posterior_square(self):
        """E sum p^2."""
        return self.posterior().mean(each=(p**2,))

    def signal_at(self, square):
        """The signal nu at which c_nu^2 has this value."""
        return sqrt(square)

    def hidden(self, function):
        """Mean of a function of chi* = x at the hidden position."""
        return self.posterior().mean(each=(p * function,))

    def lead(self):
        """mu_L = E chi*_eps: nu times the Bayes risk, by Stein's identity."""
        return nu * self.bayes_risk()

    def lead_over_length(self):
        """E[mu_L / L], the mean of chi* at one given token if it is the hidden one: that token stands for all."""
        return Tokens(L, (x,), {p: (self.kernel, self.kernel)}).mean(hidden=p * x)

    def rise(self):
        """First-order mean of the hidden score over the scale, by Stein's identity at equal probabilities."""
        return LengthMean(1 - 1 / L, L)

    def bend(self):
        """Second-order mean of its square, less one, over that of its rise squared."""
        return LengthMean((1 - 1 / L) * (1 - 2 / L), L) / self.rise() ** 2

    def density(self, score):
        """Density of chi* at the hidden position over the normal one: E[L p | one token has this score]."""
        tokens = Tokens(L, (y,), {p_2: (nu * y, nu * score)})
        return tokens.mean(hidden=p_2) + tokens.mean(hidden=p_2, each=(1,))

    def own_posterior(self, score):
        """Probability that a token with this chi* is the hidden one, for one who sees that token alone."""
        return self.density(score) / LengthMean(L, L)


class Argmax(Max):
    """The max task at nu = oo: the token with the largest chi* is the hidden one."""

    scale = Integer(1)
    kernel = Hardmax(x)

    def bayes_risk(self):
        """The position is known."""
        return Integer(0)

    def posterior_square(self):
        """The position is known."""
        return Integer(1)

    def lead(self):
        """Mean of the largest of L normals."""
        return self.hidden(x)

    def lead_over_length(self):
        """E[mu_L / L]: the mean of chi* at one given token where all others lie below it."""
        return GaussianMean(x * LengthMean(normal_cdf(x) ** (L - 1), L), x)

    def density(self, score):
        """All other tokens lie below."""
        return LengthMean(L * normal_cdf(score) ** (L - 1), L)


SPIKED, BLIND, MAX, ARGMAX = Spiked(), Blind(), Max(), Argmax()


def hidden_first(task):
    """Scores of the max task, the hidden one in front: the largest, or one drawn from softmax(nu score)."""
    return TokenSort(score) if task is ARGMAX else TokenFront(score, nu, normal_cdf(draw))


def task_of(m):
    """The task of a setting; the engine decides whether that of the max is the argmax."""
    if m.task == "spiked":
        return SPIKED
    return ARGMAX if m.when(Eq(m.nu, oo)) else MAX


def seen_task_of(m):
    """The task as far as scores tell of it: nothing without a signal, nor in the max task of a single token."""
    task = task_of(m)
    is_blind = m.when(Eq(m.nu, 0)) or (not task.is_marked and m.when(Eq(m.L, 1)))
    return BLIND if is_blind else task
