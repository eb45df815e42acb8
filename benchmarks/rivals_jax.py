"""Training on whole vectors as it is written in JAX: a loss, its gradient by differentiation, everything compiled."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf

jax.config.update("jax_enable_x64", True)


def _normal_rule(slope):
    """Nodes and weights of a mean over a standard normal that is exact to rounding for these integrands."""
    step = np.pi / np.sqrt(42 * (0.5 + 2 * slope**2))
    count = int(np.ceil(9.5 / step))
    nodes = step * np.arange(-count, count + 1)
    return jnp.array(nodes), jnp.array(step / np.sqrt(2 * np.pi) * np.exp(-(nodes**2) / 2))


def _token(k, v, target, mean, sigma, lam, rule):
    """Mean and mean square of what one token adds to the residual."""
    z, weights = rule
    norm = jnp.sqrt(k @ k)
    unit = k / norm
    f = erf(lam * (mean @ k + sigma * norm * z))
    across_v, across_target = v - (unit @ v) * unit, target - (unit @ target) * unit
    vv, vt, tt = (sigma**2 * (x @ y) for x, y in ((v, across_v), (v, across_target), (target, across_target)))
    middle = f * (mean @ v + sigma * z * (unit @ v)) - mean @ target - sigma * z * (unit @ target)
    return middle @ weights, (middle**2 + f * (f * vv - 2 * vt) + tt) @ weights


def _risk(pair, stars, lam, gamma, L, rule):
    """The population risk of k and v, by a quadrature over one token at a time."""
    (k, v), (k_star, v_star) = pair, stars
    nothing = jnp.zeros_like(k)
    m1, q1 = _token(k, v, v_star, jnp.sqrt(len(k) / 2) * k_star, gamma, lam, rule)
    m0, q0 = _token(k, v, nothing, nothing, 1.0, lam, rule)
    return q1 + (L - 1) * (q0 + 2 * m1 * m0 + (L - 2) * m0**2)


def _projected(pair, gradient, alpha):
    moved = pair - alpha * (gradient - jnp.sum(pair * gradient, axis=-1, keepdims=True) * pair)
    return moved / jnp.linalg.norm(moved, axis=-1, keepdims=True)


def descent(stars, lam, gamma, L, alpha, runs_at_once):
    """A function (pairs, steps) -> pairs: one step compiled and called again, or all steps of all runs at once."""
    rule = _normal_rule(lam * max(1.0, gamma))
    stars = jnp.array(stars)

    def step(pair):
        return _projected(pair, jax.grad(_risk)(pair, stars, lam, gamma, L, rule), alpha)

    if not runs_at_once:
        return _one_by_one(jax.jit(step))
    every = jax.vmap(step)
    whole = jax.jit(lambda pairs, steps: jax.lax.fori_loop(0, steps, lambda _, x: every(x), pairs))
    return lambda pairs, steps: np.asarray(whole(jnp.array(pairs), steps))


def _one_by_one(step):
    def run(pairs, steps):
        ends = []
        for pair in jnp.array(pairs):
            for _ in range(steps):
                pair = step(pair)
            ends.append(np.asarray(pair))
        return np.stack(ends)

    return run


def _loss(pair, tokens, labels, lam):
    score, answer = tokens @ pair[0], tokens @ pair[1]
    return jnp.mean((jnp.sum(erf(lam * score) * answer, axis=-1) - labels) ** 2)


def online(stars, lam, gamma, L, alpha, batch, eps, runs_at_once):
    """The same for steps on fresh batches of whole sequences; a function (pairs, steps, seed) -> pairs."""
    k_star, v_star = jnp.array(stars)
    d = len(k_star)

    def step(pair, key):
        for_tokens, for_labels = jax.random.split(key)
        tokens = jax.random.normal(for_tokens, (batch, L, d), dtype=jnp.float64)
        # the informative token first: the sum over tokens does not see its place
        tokens = tokens.at[:, 0].set(gamma * tokens[:, 0] + jnp.sqrt(d / 2) * k_star)
        labels = tokens[:, 0] @ v_star + eps * jax.random.normal(for_labels, (batch,), dtype=jnp.float64)
        return _projected(pair, jax.grad(_loss)(pair, tokens, labels, lam), alpha)

    if runs_at_once:
        every = jax.vmap(step)

        @partial(jax.jit, static_argnums=1)
        def whole(pairs, steps, key):
            def move(i, now):
                return every(now, jax.random.split(jax.random.fold_in(key, i), len(pairs)))

            return jax.lax.fori_loop(0, steps, move, pairs)

        return lambda pairs, steps, seed: np.asarray(whole(jnp.array(pairs), steps, jax.random.key(seed)))
    single = jax.jit(step)

    def run(pairs, steps, seed):
        key, ends = jax.random.key(seed), []
        for pair in jnp.array(pairs):
            for _ in range(steps):
                key, now = jax.random.split(key)
                pair = single(pair, now)
            ends.append(np.asarray(pair))
        return np.stack(ends)

    return run
