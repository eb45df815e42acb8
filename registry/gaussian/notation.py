"""Letters of the Gaussian lemmas."""

from theorem_engine import NONNEGATIVE, REAL, notation

var = notation("gaussian", conventions=("erf(x) is 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",))

t = var("t", "t", "mean of the argument", REAL, typical=(-6, 6))
g = var("g", "g", "standard deviation of the argument", NONNEGATIVE, typical=(0, 3))

s = var("s", "s", "widening of the error function by the noise, squared 1 + 2 g^2")
b = var("b", "b", "slope ratio between the error function and its square")
u = var("u", "u", "mean of the argument over its widening")
w = var("w", "w", "angle between the slope ratio and one")
x = var("x", "x", "share of that angle, integrated over")
V = var("V", "V", "variance of the error function")
