"""The choice of a position by scores: a token brought to the front, and how probable each is given noisy scores.

In the max task the position is drawn from softmax(nu score); a learner knows each score up to Gaussian noise. Their
numbers come from ``methods.py`` beside this file.
"""

from typing import ClassVar

from theorem_engine import OpenFunction

METHODS = "theorem_engine.registry.duranthon2026.methods"
#: Nodes of the integral over one score, for each token of a sample.
NODES = 96


class TokenFront(OpenFunction):
    """``TokenFront(x, slope, u)``: x with a token drawn from softmax(slope x) by the uniform u brought to the front.

    The tokens are put in decreasing order first, so that the result has as few jumps as it can have.
    """

    nargs = 3
    meanings: ClassVar = {"float64": METHODS + ":brought_to_front"}
    sign: ClassVar = (r"\operatorname{front}", "front")
    words: ClassVar = "of (x, b, u): x with a token in front that u draws from softmax(b x), the rest decreasing"


class LargestLog(OpenFunction):
    """``LargestLog(omega, s)``: for each token, the log probability that it is the largest of omega + s xi.

    xi is standard normal and independent for each token. ``LargestLog(omega, s, slope)`` is the log probability
    that the token is drawn from softmax(slope (omega + s xi)).
    """

    nargs = (2, 3)
    meanings: ClassVar = {"float64": METHODS + ":log_probability"}
    sign: ClassVar = (r"\log P", "log P")
    words: ClassVar = (
        "of (ω, s): log probability of each token to be the largest of ω + s ξ, ξ standard normal; of (ω, s, b): to be "
        "drawn from softmax(b (ω + s ξ))"
    )

    @classmethod
    def numbers_per_token(cls, tokens):
        """Those of an integral over one score."""
        return NODES


class LargestScore(OpenFunction):
    """``LargestScore(omega, c, s)``: derivative in omega of log sum_l exp(c_l) P_l(omega), P as in ``LargestLog``.

    ``LargestScore(omega, c, s, slope)`` where a token is drawn.
    """

    nargs = (3, 4)
    meanings: ClassVar = {"float64": METHODS + ":score"}
    sign: ClassVar = (r"\nabla_\omega\log\langle P\rangle", "∇_ω log⟨P⟩")
    words: ClassVar = "of (ω, c, s): derivatives in ω of each token of the log of the sum over tokens of exp(c) P(ω, s)"

    @classmethod
    def numbers_per_token(cls, tokens):
        """Those of an integral, or the products with every other token."""
        return max(tokens, NODES)
