"""Letters of learning from N = alpha D samples (arXiv 2509.21936, section 5).

Empirical risk minimisation is that of 1/2 sum (y - f)^2 + r_k |k|^2/2 + r_v |v|^2/2 over k and v. In the limit a
sample is seen through the cavity fields omega_l = m_k chi*_l + sqrt(s_k) xi_l and w_l = m_v z*_l + sqrt(s_v) xi'_l.
Token 1 is the hidden one.
"""

import math
from dataclasses import replace

from sympy import Rational

from theorem_engine import ABSENT, NONNEGATIVE, POSITIVE, REAL, Choice, Integers, Interval, Limit, OrWord
from theorem_engine.registry.duranthon2026.notation import MODEL, nu, task, var

#: Most tokens of a softmax channel, whose cost grows with the cube of the length, and of a linear one, whose random
#: numbers (three for each token of a sample) are kept in memory.
LONGEST_SOFTMAX = 64
LONGEST_LINEAR = 1000
#: A ridge strength, or the word for the one that minimises the risk.
STRENGTH = OrWord(0, math.inf, left_open=True, word="tuned")

alpha = var("alpha", r"\alpha", "samples per dimension N/D", POSITIVE, typical=(1, 8))
r_k = var("r_k", "r_k", "ridge strength of k, in the objective r_k |k|^2/2", STRENGTH, typical=(0.5, 2))
r_v = var("r_v", "r_v", "ridge strength of v, in the objective r_v |v|^2/2", STRENGTH, typical=(0.5, 8))
L = var("L", "L", "tokens in a sequence", Integers(2, LONGEST_LINEAR), typical=(2, 4))
activation = var(
    "activation", r"\sigma", "how scores become weights: softmax, or linear 1 + chi", Choice(("softmax", "linear"))
)
#: Most tokens of weights whose proximal point is always looked for from all starts.
LONGEST_SEARCHED = 16
trained_activation = var(
    "activation", r"\sigma", "how scores become weights: softmax, linear 1 + chi, 1 + erf(shift + chi), or softplus, "
    "normalised", Choice(("softmax", "linear", "erf", "softplus")),
)  # fmt: skip
branch = var("branch", r"\mathrm{branch}", "where the iteration starts: near k*, v* or knowing nothing of them",
             Choice(("informed", "uninformed")), default="informed")  # fmt: skip
learner_branch = var("branch", r"\mathrm{branch}", "where the iteration starts: near k*, v* or knowing nothing of them",
                     Choice(("uninformed", "informed")), default="uninformed")  # fmt: skip
draws = var("draws", "n", "random draws for the averages, rounded up to a power of two; 2^14 if left out, with "
              "linear weights 2^16, fewer for more than four tokens", Integers(2**8, 2**20), default=ABSENT,
              typical=(2**14, 2**15))  # fmt: skip

fixed_r_v = var("r_v", "r_v", "ridge strength of v, in the objective r_v |v|^2/2", POSITIVE, typical=(0.5, 8))

# letters that a statement is indifferent to may be given all the same
any_task = var("task", r"\mathrm{task}", "how the hidden position is tied to the tokens; without effect", task.domain,
               default="spiked")  # fmt: skip
any_nu = var("nu", r"\nu", "strength of the signal; without effect", nu.domain, default=ABSENT, typical=(0, 8))

# order parameters
m_k = var("m_k", "m_k", "overlap k.k*/D", REAL)
m_v = var("m_v", "m_v", "overlap v.v*/D", REAL)
s_k = var("s_k", "s_k", "q_k - m_k^2, squared norm of k orthogonally to k*", POSITIVE)
s_v = var("s_v", "s_v", "q_v - m_v^2, squared norm of v orthogonally to v*", POSITIVE)
q_k = var("q_k", "q_k", "squared norm k.k/D", POSITIVE)
q_v = var("q_v", "q_v", "squared norm v.v/D", POSITIVE)
V_k = var("V_k", "V_k", "response of k, width of its proximal point", POSITIVE)
V_v = var("V_v", "V_v", "response of v, width of its proximal point", POSITIVE)
mh_k = var("mh_k", r"\hat m_k", "conjugate of m_k", REAL)
mh_v = var("mh_v", r"\hat m_v", "conjugate of m_v", REAL)
qh_k = var("qh_k", r"\hat q_k", "conjugate of q_k", NONNEGATIVE)
qh_v = var("qh_v", r"\hat q_v", "conjugate of q_v", NONNEGATIVE)
Vh_k = var("Vh_k", r"\hat V_k", "conjugate of V_k", REAL)
Vh_v = var("Vh_v", r"\hat V_v", "conjugate of V_v", REAL)

# the fields of one sample
eta = var("eta", r"\eta", "standard normal of a token, for its score", REAL)
score = var("score", r"\chi^0", "standard normal of a token, before the hidden one is drawn", REAL)
zeta = var("zeta", r"\zeta", "standard normal of a token, for its value", REAL)
zeta_0 = var("zeta_0", r"\zeta_0", "standard normal of the sample, for the label", REAL)
draw = var("draw", "g", "standard normal of the sample, for drawing the hidden token", REAL)
first = var("first", r"1_{\ell=1}", "one on the hidden token, zero on the others", REAL)
omega = var("omega", r"\omega", "cavity field of a token's score", REAL)
w = var("w", "w", "cavity field of a token's value", REAL)
y = var("y", "y", "label", REAL)
tau = var("tau", r"\tau", "variance of the label given the cavity fields", POSITIVE)
chi_star = var("chi_star", r"\chi^*", "score of a token along k*, or its mean given the fields", REAL)
z_star = var("z_star", "z^*", "value of a token along v*, or its mean given the fields", REAL)
rest_k = var("rest_k", r"\omega - m_k\chi^*", "part of omega that is independent of chi*", REAL)
chi = var("chi", r"\chi", "score of a token under the learnt k", REAL)
z = var("z", "z", "value of a token under the learnt v", REAL)
tried = var("tried", r"1_{\ell=m}", "one on the token whose weight a search starts from, zero on the others", REAL)
chi_hat = var("chi_hat", r"\hat\chi", "proximal point of the scores", REAL)
z_hat = var("z_hat", r"\hat z", "proximal point of the values", REAL)
rho = var("rho", r"\rho", "training residual y - sigma.z at the proximal point", REAL)
jumped = var("jumped", r"1_{\mathrm{jump}}", "one where the proximal point is not the one nearest to omega", REAL)
f_k = var("f_k", "f_k", "(chi_hat - omega)/V_k", REAL)
f_v = var("f_v", "f_v", "(z_hat - w)/V_v", REAL)
T_kk = var("T_kk", "T_{kk}", "stability of replica symmetry, k to k", NONNEGATIVE)
T_kv = var("T_kv", "T_{kv}", "stability of replica symmetry, v to k", NONNEGATIVE)
T_vk = var("T_vk", "T_{vk}", "stability of replica symmetry, k to v", NONNEGATIVE)
T_vv = var("T_vv", "T_{vv}", "stability of replica symmetry, v to v", NONNEGATIVE)
T_x = var("T_x", r"T_\times", "stability of replica symmetry against a cross overlap", REAL)

FINITE_MODEL = (
    *MODEL,
    "N, D -> oo with N = alpha D, L fixed",
    "the cross overlaps k.v*, v.k*, k.v vanish, by symmetry",
)
#: What is said of many training sets, and of a single one.
PROPORTIONAL = Limit(grows=("N", "D"), fixed=("N/D",), words="N, D -> oo with N = alpha D")
ONE_SET = replace(PROPORTIONAL, orders=(Rational(1, 2),), correction="of order 1/sqrt(D) in a single training set")
UNIT = Interval(0, 1)
