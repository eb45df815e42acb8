"""Points at which the tests of marion2025's dynamics and landscape evaluate its entries."""

import theorem_engine as te

NAMES = ("kappa", "nu", "theta", "eta", "rho")
MODEL = {"gamma": "sqrt(1/2)", "d": 400, "L": 10}


def pgd(**point):
    return te.predict("marion2025.pgd", **{**MODEL, **point}).outputs
