"""Softmax, linear and other attention on single-location regression (arXiv 2509.21936)."""
