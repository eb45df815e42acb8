"""The loss of one sample at its cavity fields, and its proximal point.

With softmax weights the point may be one of several minima. Write s for the weights, R(w) for the range of a vector and
rho for the residual. After the minimum over z the loss is phi = |chi - omega|^2/(2 V_k) + psi; along a unit vector v

    psi'' >= -rho^2 V_v |J v|^2 - rho |Cov_s(w + V_v rho s, (v - s.v)^2)|,     J = diag(s) - s s^T.

**Bounds, for any number of tokens.** Let 1 - p bound the largest weight from below, P = p(1-p) if p <= 1/2, else 1/4.

1. Var_s(u) <= P R(u)^2: a variance is convex in each value, so that it is largest where all values are at the ends of
   their range; the heaviest token is at one end, so that the mass q at the other is at most p, and q(1-q) <= P. As
   R(v)^2 <= 2 for a unit vector, v.J v <= 2 P, |J v| <= 2 P, and |Cov_s(v, w)| <= sqrt(2) P R(w).
2. Cov_s(u, (v - s.v)^2) <= R(u) min(2 P, 1/(3 sqrt 3)). The first because Cov(u, X) <= E X for 0 <= u <= 1 and X >= 0.
   For the second let R(u) = 1. The covariance is linear in u, so u is one on some set A and zero elsewhere. With a the
   mass of A, sigma^2 the variance of v within A, tau^2 that outside and delta the distance of the two means,

       Cov = a (1-a) (sigma^2 - tau^2 + (1-2a) delta^2).

   Outside A put all mass on one token, with the mean of v as its value: tau vanishes, and |v| does not grow. Inside A,
   at given mass and mean, sigma^2 is linear in the masses: two tokens suffice, the others may be left out. So three
   tokens are the general case. Let the two have the shares theta and 1 - theta of a and the distance h, and set
   c = theta (1 - theta) <= 1/4 and k = 1 - 2a. As v may be centred,

       3 |v|^2 = 2 delta^2 +- 2 delta h sqrt(1-4c) + (2-2c) h^2,

   and the largest x = (c h^2 + k delta^2)/|v|^2 is the larger root of f(x) = x^2 - 2 (c + k - c k) x + 3 c k; for k < 0
   it is at most c h^2/|v|^2 <= 1/2. At X = 4/(3 sqrt 3 (1-k^2)) f is linear in c, X (X - 2k) at c = 0 and
   (X - 1/2)(X - 3k/2) at c = 1/4. Both are not negative, because X >= 2k (k (1-k^2) is at most 2/(3 sqrt 3)) and
   X > 1/2; nor is X less than half the sum of the roots. Hence x <= X, and Cov = x (1-k^2)/4 <= 1/(3 sqrt 3). Two
   tokens attain it.

**Consequence.** A point lower than a stationary one of height H lies within r = sqrt(2 V_k H) of omega, as psi >= 0.
There scores move against each other by at most sqrt(2) r, which bounds p; s.w moves by at most sqrt(2) r P R(w), which
bounds rho = (y - s.w)/(1 + V_v |s|^2), with |s|^2 >= max(1/L, (1-p)^2). If then

    V_k rho (4 V_v rho P^2 + min(2 P, 1/(3 sqrt 3)) (R(w) + V_v rho)) < 1,

phi is strictly convex in that ball, and the stationary point is the lowest.
"""

from sympy import Abs, Rational, exp, sqrt

from theorem_engine import Proximal, TokenLogSum, TokenMax, TokenSum, normal_cdf, positive_part, softplus
from theorem_engine.registry.duranthon2026.finite_sample_notation import V_k, V_v, chi, omega, tried, w, y, z

#: Logit of the starts near a vertex of the simplex.
VERTEX = 6
#: The largest covariance of a vector of range one with (v - s.v)^2, |v| = 1, under any weights s.
SKEW = 1 / (3 * sqrt(3))


def weights(activation, shift=0):
    """How the scores of a sample become weights."""
    if activation == "linear":
        return 1 + chi
    if activation == "erf":
        return 2 * normal_cdf(sqrt(2) * (shift + chi))
    if activation == "softplus":
        return softplus(chi) / TokenSum(softplus(chi))
    return exp(chi - TokenLogSum(chi))


def loss(activation, shift=0):
    """Half the squared residual, and the cost of moving away from the cavity fields."""
    residual = y - TokenSum(weights(activation, shift) * z)
    return TokenSum((chi - omega) ** 2) / (2 * V_k) + TokenSum((z - w) ** 2) / (2 * V_v) + residual**2 / 2


def proximal_point(activation, L, shift=0):
    """The minimiser of the loss over the scores and values of a sample.

    All but linear weights are tried from the uniform point and from near each vertex too, softmax weights unless the
    first minimum is certain; of the others no such bound is known here.
    """
    objective = loss(activation, shift)
    if activation == "linear":
        return Proximal(objective, over=(chi, z))
    middle = TokenSum(omega) / L
    return Proximal(
        objective,
        over=(chi, z),
        starts=({chi: middle}, {chi: middle + VERTEX * (tried - 1 / L)}),
        each=tried,
        **({"certain": lambda height: is_lowest(height, L)} if activation == "softmax" else {}),
    )


def is_lowest(height, L):
    """Whether a stationary point of this height is the lowest with softmax weights; see above."""
    radius = sqrt(2 * V_k * height)
    part = exp(omega - TokenMax(omega))
    p = 1 / (1 + exp(-sqrt(2) * radius) / (TokenSum(part) - 1))
    half = _smaller(p, Rational(1, 2))
    spread = half * (1 - half)
    top, bottom = TokenMax(w), -TokenMax(-w)
    reach = Abs(y - TokenSum(part * w) / TokenSum(part)) + sqrt(2) * radius * spread * (top - bottom)
    miss = _smaller(reach, Abs(y - (top + bottom) / 2) + (top - bottom) / 2)
    rho = miss / (1 + V_v * _larger(1 / L, (1 - p) ** 2))
    bend = _smaller(SKEW, 2 * spread) * (top - bottom + V_v * rho)
    return V_k * rho * (4 * V_v * rho * spread**2 + bend) < 1


def _smaller(a, b):
    return a - positive_part(a - b)


def _larger(a, b):
    return a + positive_part(b - a)
