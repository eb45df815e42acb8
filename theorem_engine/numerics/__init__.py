"""Numerical methods: plain NumPy, knowing neither SymPy nor any statement."""
