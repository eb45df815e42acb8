"""What exported Python carries with it, as text: functions that NumPy lacks, solvers."""

#: Functions that NumPy lacks.
HELPERS = {
    "erf": "erf = numpy.vectorize(math.erf, otypes=[float])\n",
    "erfc": "erfc = numpy.vectorize(math.erfc, otypes=[float])\n",
    "erfcx": '''
@numpy.vectorize
def erfcx(x):
    """exp(x^2) erfc(x); by its continued fraction where the exponential would lose digits."""
    if x < 5:
        return math.exp(x * x) * math.erfc(x) if x > -26 else math.inf
    fraction = x
    for k in range(60, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (math.sqrt(math.pi) * fraction)

''',
    "normal_pdf": "\ndef normal_pdf(x):\n    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)\n\n",
    "normal_cdf": "\ndef normal_cdf(x):\n    return erfc(-x / math.sqrt(2)) / 2\n\n",
    "mills": "\ndef mills(x):\n    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))\n\n",
    "softplus": "\ndef softplus(x):\n    return numpy.logaddexp(0.0, x)\n\n",
    "log_softplus": (
        "\ndef log_softplus(x):\n"
        "    return numpy.where(x < -37.0, x, numpy.log(numpy.logaddexp(0.0, numpy.maximum(x, -37.0))))\n\n"
    ),
    "UpTo": "\ndef UpTo(x, left):\n    return x\n\n",
    "positive_part": "\ndef positive_part(x):\n    return numpy.maximum(x, 0.0)\n\n",
}
USES = {"normal_cdf": ("erfc",), "mills": ("erfcx",)}

SOLVER = '''
def solve_group(system, starts, positive, parameters, along):
    """Solution x = F(x) by Newton's method, in the logarithm of positive unknowns.

    ``system`` gives F and its Jacobian. Where Newton's step fails the averaged map (x + F(x))/2 takes its place;
    where that fails too, easier values of the parameter ``along`` are solved first and followed back.
    """
    for start in starts:
        x, gap = newton(system, start, positive, parameters)
        for power in range(1, 17 if along is not None and not gap <= 1e-9 else 0):
            eased = list(parameters)
            eased[along] = parameters[along] * 4.0**power
            x, gap = newton(system, start, positive, eased)
            if gap <= 1e-9:
                for back in range(power - 1, -1, -1):
                    eased[along] = parameters[along] * 4.0**back
                    x, gap = newton(system, x, positive, eased)
                break
        if gap <= 1e-9:
            return x
    raise ArithmeticError("the self-consistent equations could not be solved at this point")


def newton(system, start, positive, parameters):
    size = len(start)
    positive = numpy.array(positive)
    x = numpy.where(positive, numpy.maximum(start, 1e-300), start)
    best, smallest, idle = x, math.inf, 0
    for _ in range(80):
        flat = numpy.array([float(v) for v in system(*x, *parameters)])
        value, slopes = flat[:size], flat[size:].reshape(size, size)
        gap = float(numpy.max(abs(x - value) / numpy.maximum(numpy.maximum(abs(x), abs(value)), 1e-300)))
        gap = gap if math.isfinite(gap) else math.inf
        idle = 0 if gap < 0.9 * smallest else idle + 1
        if gap < smallest:
            best, smallest = x, gap
        if smallest <= 4e-15 or (smallest <= 1e-11 and idle) or (smallest <= 1e-9 and idle >= 4):
            break
        scale = numpy.where(positive, x, 1.0)
        try:
            move = numpy.linalg.solve((numpy.eye(size) - slopes) * scale, value - x)
        except numpy.linalg.LinAlgError:
            move = numpy.full(size, math.nan)
        new = numpy.where(positive, x * numpy.exp(numpy.clip(move, -3.0, 3.0)), x + move)
        if idle >= 8 or not numpy.all(numpy.isfinite(new)):
            averaged = (x + value) / 2
            new = numpy.where(numpy.isfinite(averaged) & (~positive | (averaged > 0)), averaged, x)
        x = new
    return best, smallest


def solve_linear(system, size, parameters):
    """Solution of x = F(x) for F affine: one step from the origin."""
    flat = numpy.array([float(v) for v in system(*([0.0] * size), *parameters)])
    return numpy.linalg.solve(numpy.eye(size) - flat[size:].reshape(size, size), flat[:size])

'''

FINDER = '''
def find_root(function, low, high, last, parameters):
    """Where the function changes its sign first (or last) between two ends; infinite if it never does."""
    low = max(low, -1e6)
    high = (low * 1e12 if low > 0 else 1e6) if math.isinf(high) else high
    places = [float(x) for x in (numpy.geomspace if low > 0 else numpy.linspace)(low, high, 129)]
    values = [float(function(x, *parameters)[0]) for x in places]
    pairs = list(zip(places[:-1], values[:-1], places[1:], values[1:]))
    for a, at_a, b, at_b in reversed(pairs) if last else pairs:
        if at_a == 0:
            return a
        if math.isfinite(at_a) and math.isfinite(at_b) and (at_a < 0) != (at_b < 0):
            return narrow(lambda x: float(function(x, *parameters)[0]), a, at_a, b, at_b)
    return places[-1] if values[-1] == 0 else math.inf


def narrow(function, a, at_a, b, at_b):
    """The sign change between a and b: secants that halve the value kept too long, every third step a bisection."""
    for step in range(300):
        if at_b == 0 or abs(b - a) <= 4e-16 * max(abs(a), abs(b)):
            break
        x = b - at_b * (b - a) / (at_b - at_a)
        if step % 3 == 2 or not min(a, b) < x < max(a, b):
            x = (a + b) / 2
        at_x = function(x)
        if (at_x < 0) == (at_b < 0):
            b, at_b, at_a = x, at_x, at_a / 2
        else:
            a, at_a, b, at_b = b, at_b, x, at_x
    return b

'''
