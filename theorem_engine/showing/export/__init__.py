"""Statements in other languages: stand-alone Python and C, LaTeX, JSON."""
