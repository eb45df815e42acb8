"""What exported C carries with it, as text: functions that math.h lacks, solvers."""

#: Functions that math.h lacks.
HELPERS = {
    "erfcx": """
/* exp(x^2) erfc(x); by its continued fraction where the exponential would lose digits */
static double erfcx(double x) {
    double fraction = x;
    if (x < 5.0) return exp(x * x) * erfc(x);
    for (int k = 60; k > 0; k--) fraction = x + 0.5 * k / fraction;
    return 1.0 / (1.7724538509055160273 * fraction);
}
""",
    "normal_pdf": "static double normal_pdf(double x) { return exp(-0.5 * x * x) / 2.5066282746310005024; }\n",
    "normal_cdf": "static double normal_cdf(double x) { return 0.5 * erfc(-x / 1.4142135623730950488); }\n",
    "mills": "static double mills(double x) { return 1.2533141373155002512 * erfcx(x / 1.4142135623730950488); }\n",
    "softplus": "static double softplus(double x) { return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)); }\n",
    "log_softplus": (
        "static double log_softplus(double x) {\n"
        "    return x < -37.0 ? x : log(x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)));\n}\n"
    ),
    "UpTo": "static double UpTo(double x, double left) { return x; }\n",
    "positive_part": "static double positive_part(double x) { return x > 0.0 ? x : 0.0; }\n",
    "sign": "static double sign(double x) { return (x > 0.0) - (x < 0.0); }\n",
    "loggamma": "static double loggamma(double x) { return lgamma(x); }\n",
}
USES = {"mills": ("erfcx",)}

EQUATIONS = "typedef void (*equations)(const double *x, const double *parameters, double *flat);\n"

FINDER = """
static double value_at(equations function, double x, const double *parameters) {
    double value;
    function(&x, parameters, &value);
    return value;
}

/* the sign change between a and b: secants that halve the value kept too long, every third step a bisection */
static double narrow(equations function, const double *parameters, double a, double at_a, double b, double at_b) {
    for (int step = 0; step < 300; step++) {
        double x, at_x;
        if (!(fabs(at_b) > 0.0) || fabs(b - a) <= 4e-16 * fmax(fabs(a), fabs(b))) break;
        x = b - at_b * (b - a) / (at_b - at_a);
        if (step % 3 == 2 || !(fmin(a, b) < x && x < fmax(a, b))) x = (a + b) / 2.0;
        at_x = value_at(function, x, parameters);
        if ((at_x < 0.0) == (at_b < 0.0)) at_a /= 2.0;
        else a = b, at_a = at_b;
        b = x, at_b = at_x;
    }
    return b;
}

/* where the function changes its sign first (or last) between two ends; infinite if it never does */
static double find_root(equations function, double low, double high, int last, const double *parameters) {
    enum { PLACES = 129 };
    double places[PLACES], values[PLACES];
    low = fmax(low, -1e6);
    if (isinf(high)) high = low > 0.0 ? low * 1e12 : 1e6;
    for (int i = 0; i < PLACES; i++) {
        const double share = (double)i / (PLACES - 1);
        places[i] = low > 0.0 ? low * pow(high / low, share) : low + (high - low) * share;
        if (i == PLACES - 1) places[i] = high;
        values[i] = value_at(function, places[i], parameters);
    }
    for (int k = 0; k < PLACES - 1; k++) {
        const int i = last ? PLACES - 2 - k : k;
        if (fabs(values[i]) <= 0.0) return places[i];
        if (isfinite(values[i]) && isfinite(values[i + 1]) && (values[i] < 0.0) != (values[i + 1] < 0.0))
            return narrow(function, parameters, places[i], values[i], places[i + 1], values[i + 1]);
    }
    return fabs(values[PLACES - 1]) <= 0.0 ? places[PLACES - 1] : INFINITY;
}
"""

ELIMINATION = """
/* solution of the n equations in rows of n + 1 numbers, by elimination with row pivots; 0 if they are singular */
static int eliminate(int n, double *rows, double *x) {
    const int width = n + 1;
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(rows[i * width + k]) > fabs(rows[pivot * width + k])) pivot = i;
        if (!(fabs(rows[pivot * width + k]) > 0.0) || !isfinite(rows[pivot * width + k])) return 0;
        for (int j = 0; j < width && pivot != k; j++) {
            const double kept = rows[k * width + j];
            rows[k * width + j] = rows[pivot * width + j];
            rows[pivot * width + j] = kept;
        }
        for (int i = k + 1; i < n; i++) {
            const double factor = rows[i * width + k] / rows[k * width + k];
            for (int j = k; j < width; j++) rows[i * width + j] -= factor * rows[k * width + j];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        double rest = rows[k * width + n];
        for (int i = k + 1; i < n; i++) rest -= rows[k * width + i] * x[i];
        x[k] = rest / rows[k * width + k];
        if (!isfinite(x[k])) return 0;
    }
    return 1;
}
"""

LINEAR = """
/* x = F(x) for F affine, one step from the origin; NaN if the equations are singular */
static void solve_linear(int n, equations system, const double *parameters, double *x) {
    double flat[MOST * (MOST + 1)], rows[MOST * (MOST + 1)];
    for (int i = 0; i < n; i++) x[i] = 0.0;
    system(x, parameters, flat);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) rows[i * (n + 1) + k] = (i == k) - flat[n * (i + 1) + k];
        rows[i * (n + 1) + n] = flat[i];
    }
    if (!eliminate(n, rows, x))
        for (int i = 0; i < n; i++) x[i] = NAN;
}
"""

SOLVER = """
/* Newton's method for x = F(x), in the logarithm of positive unknowns; where its step fails the averaged map
   (x + F(x))/2 takes its place. Returns the relative residual. */
static double newton(int n, equations system, const int *positive, const double *parameters, double *x) {
    double flat[MOST * (MOST + 1)], rows[MOST * (MOST + 1)], best[MOST], move[MOST], next[MOST];
    double smallest = INFINITY;
    int idle = 0;
    for (int i = 0; i < n; i++) best[i] = x[i] = positive[i] ? fmax(x[i], 1e-300) : x[i];
    for (int step = 0; step < 80; step++) {
        double gap = 0.0;
        int usable;
        system(x, parameters, flat);
        for (int i = 0; i < n; i++) {
            const double part = fabs(x[i] - flat[i]) / fmax(fmax(fabs(x[i]), fabs(flat[i])), 1e-300);
            gap = isfinite(part) ? fmax(gap, part) : INFINITY;
            if (!isfinite(part)) break;
        }
        idle = gap < 0.9 * smallest ? 0 : idle + 1;
        if (gap < smallest) {
            smallest = gap;
            for (int i = 0; i < n; i++) best[i] = x[i];
        }
        if (smallest <= 4e-15 || (smallest <= 1e-11 && idle) || (smallest <= 1e-9 && idle >= 4)) break;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++)
                rows[i * (n + 1) + k] = ((i == k) - flat[n * (i + 1) + k]) * (positive[k] ? x[k] : 1.0);
            rows[i * (n + 1) + n] = flat[i] - x[i];
        }
        usable = eliminate(n, rows, move) && idle < 8;
        for (int i = 0; i < n && usable; i++) {
            next[i] = positive[i] ? x[i] * exp(fmax(-3.0, fmin(3.0, move[i]))) : x[i] + move[i];
            usable = isfinite(next[i]);
        }
        for (int i = 0; i < n; i++) {
            const double averaged = 0.5 * (x[i] + flat[i]);
            if (usable) x[i] = next[i];
            else if (isfinite(averaged) && (averaged > 0.0 || !positive[i])) x[i] = averaged;
        }
    }
    for (int i = 0; i < n; i++) x[i] = best[i];
    return smallest;
}

/* Newton from each start; where it fails, easier values of the parameter `along` are solved first and followed back.
   NaN where nothing helps. */
static void solve_group(int n, equations system, const int *positive, int branches, const double *starts,
                        double *parameters, int along, double *x) {
    for (int b = 0; b < branches; b++) {
        double gap;
        for (int i = 0; i < n; i++) x[i] = starts[b * n + i];
        gap = newton(n, system, positive, parameters, x);
        if (!(gap <= 1e-9) && along >= 0) {
            const double asked = parameters[along];
            double factor = 1.0;
            int power = 0;
            while (!(gap <= 1e-9) && power < 16) {
                power++;
                factor *= 4.0;
                parameters[along] = asked * factor;
                for (int i = 0; i < n; i++) x[i] = starts[b * n + i];
                gap = newton(n, system, positive, parameters, x);
            }
            while (power > 0) {
                power--;
                factor /= 4.0;
                parameters[along] = asked * factor;
                gap = newton(n, system, positive, parameters, x);
            }
            parameters[along] = asked;
        }
        if (gap <= 1e-9) return;
    }
    for (int i = 0; i < n; i++) x[i] = NAN;
}
"""
