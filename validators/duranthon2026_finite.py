"""Learning from N = alpha D samples as it is defined."""


def empirical_risk(point, rng, count):
    raise NotImplementedError
