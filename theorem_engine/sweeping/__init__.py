"""Many points: grids, labelled results, executors, journals that survive, files."""
