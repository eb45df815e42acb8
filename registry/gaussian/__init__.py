"""Gaussian means of the error function and its square."""
