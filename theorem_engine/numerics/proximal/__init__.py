"""Proximal points of a loss, many at once."""
