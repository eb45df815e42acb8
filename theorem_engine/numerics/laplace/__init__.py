"""Sums over any number of independent tokens, as integrals of Laplace transforms."""
