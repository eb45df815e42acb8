"""Ratios measured in one run, on whatever machine this is."""
