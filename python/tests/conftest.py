"""What several tests need. Sizes of long runs come from the environment: see `make python-stress`."""
import os

import numpy as np
import pytest


def scaled(name, usual):
    """A number of rounds; FEDSINKHORN_FUZZ_CALLS and FEDSINKHORN_STRESS_ROUNDS set others."""
    return int(os.environ.get(name, usual))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def clouds(rng):
    return rng.random((40, 2)), rng.random((30, 2))


@pytest.fixture
def costs(clouds):
    X, Y = clouds
    return ((X[:, None] - Y[None]) ** 2).sum(-1)


def reference_plan(C, a, b, epsilon, iterations=5000):
    """Slow and obvious: Sinkhorn in logarithms."""
    with np.errstate(divide="ignore"):
        log_a, log_b = np.log(a), np.log(b)
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(iterations):
        f = epsilon * (log_a - log_sum((g[None] - C) / epsilon, 1))
        g = epsilon * (log_b - log_sum((f[:, None] - C) / epsilon, 0))
    return np.exp((f[:, None] + g[None] - C) / epsilon)


def log_sum(x, axis):
    largest = x.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        return (largest + np.log(np.exp(x - largest).sum(axis=axis, keepdims=True))).squeeze(axis)
