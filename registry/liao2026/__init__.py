"""Interpolation error of nonlinear attention against ridge regression."""
