"""Near the oracle nothing cancels: the risk is a difference of numbers close to one, and keeps its digits.

The informative token loses E (1 - erf(t + g G))^2. Written as 1 - 2 E erf + E erf^2 it is a difference
of numbers near one, and in double precision nothing is left of it once it falls below 1e-16. The
registry states it without the difference, so that float64 keeps its relative accuracy.
"""

import theorem_engine as te


def lost_in_a_difference():
    print("E (1 - erf(t + g G))^2 at g = 0.1, stated as a lemma and written as a difference\n")
    print(f"{'t':>4}  {'lemma, float64':>22}  {'difference, float64':>22}  {'20 digits':>26}")
    for t in (1, 2, 3, 4, 6):
        lemma = te.predict("gaussian.erf-miss", t=t, g="0.1")
        exact = te.predict("gaussian.erf-miss", t=t, g="0.1", digits=20)
        mean = te.predict("gaussian.erf-mean", t=t, g="0.1").value
        square = te.predict("gaussian.erf-square", t=t, g="0.1").value
        digits = exact.to_json()["value"]
        print(f"{t:>4}  {lemma.value:>22.15e}  {1 - 2 * mean + square:>22.15e}  {digits:>26}")


def risk_of_the_oracle():
    print("\nRisk of the oracle where it is hardest to compute: its error, relative to 30 digits\n")
    for lam, d in (("1", 10**6), ("1e-6", 10**6), ("1e-6", 4), ("0.1", 400)):
        point = {"lam": lam, "gamma": "sqrt(1/2)", "d": d, "L": 10}
        value = te.predict("marion2025.oracle-risk", **point)
        exact = te.predict("marion2025.oracle-risk", **point, digits=30)
        relative = abs(float((exact.value - value.value) / exact.value))
        print(f"  lam = {lam:>5}, d = {d:>7}: {value.value:.15g}, relative error {relative:.0e}")


if __name__ == "__main__":
    lost_in_a_difference()
    risk_of_the_oracle()
