"""Integrals over spectra of large random matrices."""
