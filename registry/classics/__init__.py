"""Best-known limits of high-dimensional statistics: spectra, regressions, perceptrons, memories, dynamics."""
