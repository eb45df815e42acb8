"""Roots, minima, fixed points and stiff flows of functions given as they are."""
