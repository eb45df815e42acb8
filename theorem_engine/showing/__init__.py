"""What a person sees: pages, mathematics, plots, searches, the command line."""
