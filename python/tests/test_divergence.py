"""The Sinkhorn divergence and gradients, against differences of values."""
import pickle

import numpy as np
import pytest

import fedsinkhorn

TIGHT = dict(tolerance=1e-13)


def difference(value, point, k, h=1e-4):
    """A central difference quotient with one step of Richardson's extrapolation."""

    def quotient(step):
        plus, minus = point.copy(), point.copy()
        plus.flat[k] += step
        minus.flat[k] -= step
        return (value(plus) - value(minus)) / (2 * step)

    return (4 * quotient(h) - quotient(2 * h)) / 3


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine"])
@pytest.mark.parametrize("kernel", ["dense", "online"])
@pytest.mark.parametrize("debiased", [True, False])
def test_gradients_of_points(rng, metric, kernel, debiased):
    X, Y = 1 + rng.random((12, 2)), 1.3 + rng.random((9, 2))
    if metric == "euclidean" and debiased:
        pytest.skip("points of one cloud coincide with themselves, where the distance has no derivative")
    settings = dict(TIGHT, epsilon=0.01 if metric == "cosine" else 0.1, metric=metric, kernel=kernel)

    def solved(x, y):
        return fedsinkhorn.divergence(x, y, **settings) if debiased else fedsinkhorn.solve((x, y), **settings)

    def value(x, y):
        result = solved(x, y)
        return result.value if debiased else result.cost.kl_objective

    of_X, of_Y = solved(X, Y).gradients()
    largest = max(abs(of_X).max(), abs(of_Y).max())
    for k in range(0, X.size, 5):
        assert of_X.flat[k] == pytest.approx(difference(lambda x: value(x, Y), X, k), abs=1e-6 * largest)
    for k in range(0, Y.size, 5):
        assert of_Y.flat[k] == pytest.approx(difference(lambda y: value(X, y), Y, k), abs=1e-6 * largest)


@pytest.mark.parametrize("debiased", [True, False])
def test_gradients_of_masses(rng, debiased):
    X, Y = rng.random((8, 2)), rng.random((6, 2))
    a, b = rng.random(8) + 0.5, rng.random(6) + 0.5
    a, b = a / a.sum(), b / b.sum()

    def solved(a, b):
        if debiased:
            return fedsinkhorn.divergence(X, Y, a, b, epsilon=0.1, **TIGHT)
        return fedsinkhorn.solve((X, Y), a, b, epsilon=0.1, **TIGHT)

    def value(a, b):
        result = solved(a, b)
        return result.value if debiased else result.cost.kl_objective

    def moved(masses, k, by):
        masses = masses.copy()
        masses[k] += by
        masses[0] -= by
        return masses

    of_a, of_b = solved(a, b).mass_gradients()
    assert of_a.sum() == pytest.approx(0, abs=1e-12)
    scale = max(abs(of_a).max(), abs(of_b).max())
    for k in (1, 5):
        quotient = (value(moved(a, k, 1e-5), b) - value(moved(a, k, -1e-5), b)) / 2e-5
        assert of_a[k] - of_a[0] == pytest.approx(quotient, abs=1e-6 * scale)
        quotient = (value(a, moved(b, k, 1e-5)) - value(a, moved(b, k, -1e-5))) / 2e-5
        assert of_b[k] - of_b[0] == pytest.approx(quotient, abs=1e-6 * scale)


def test_divergence(clouds):
    X, Y = clouds
    result = fedsinkhorn.divergence(X, Y, epsilon=0.05)
    assert result.converged and float(result) == result.value > 0 and len(result.iterations) == 3
    assert abs(fedsinkhorn.divergence(X, X.copy(), epsilon=0.05).value) < 1e-9
    parts = [fedsinkhorn.solve(pair, epsilon=0.05).cost for pair in ((X, Y), (X, X), (Y, Y))]
    for name in ("kl_objective", "linear"):
        values = [getattr(part, name) for part in parts]
        expected = values[0] - (values[1] + values[2]) / 2
        assert (result.value if name == "kl_objective" else result.linear) == pytest.approx(expected, abs=1e-8)
    assert "converged" in repr(result)


def test_what_a_divergence_refuses(clouds, rng):
    X, Y = clouds
    with pytest.raises(fedsinkhorn.InputError, match="^b: has several targets"):
        fedsinkhorn.divergence(X, Y, None, np.full((30, 2), 1 / 30), epsilon=0.1)
    with pytest.raises(fedsinkhorn.InputError, match="^Y: "):
        fedsinkhorn.divergence(X, Y[:, 0], epsilon=0.1)
    with pytest.raises(TypeError):
        fedsinkhorn.divergence(X, Y, epsilon=0.1, nonsense=1)
    with pytest.raises(fedsinkhorn.InputError, match="^policy: private"):
        fedsinkhorn.divergence(X, Y, epsilon=0.1, policy="private", noise=1)
    with pytest.raises(TypeError, match="no option 'initial_g'$"):
        fedsinkhorn.divergence(X, Y, epsilon=0.1, initial_g=np.zeros(30))
    with pytest.warns(fedsinkhorn.ConvergenceWarning):
        fedsinkhorn.divergence(X, Y, epsilon=0.01, max_iterations=1)


@pytest.mark.parametrize("debiased", [True, False])
def test_gradients_of_masses_that_are_normalised(rng, debiased):
    """All totals are allowed; a mass of 0 stays where it is."""
    X, Y, a, b = rng.random((8, 2)), rng.random((6, 2)), 3 * rng.random(8) + 0.5, rng.random(6) + 0.5
    b[2] = 0
    settings = dict(TIGHT, epsilon=0.1, normalize=True)

    def solved(a, b):
        return fedsinkhorn.divergence(X, Y, a, b, **settings) if debiased else fedsinkhorn.solve((X, Y), a, b, **settings)

    def value(a, b):
        return solved(a, b).value if debiased else solved(a, b).cost.kl_objective

    of_a, of_b = solved(a, b).mass_gradients()
    scale = max(abs(of_a).max(), abs(of_b).max())
    for k in (0, 3, 5):
        assert of_a[k] == pytest.approx(difference(lambda a: value(a, b), a, k), abs=1e-6 * scale)
        assert of_b[k] == pytest.approx(difference(lambda b: value(a, b), b, k), abs=1e-6 * scale)
    if not debiased:
        other = pickle.loads(pickle.dumps(solved(a, b))).mass_gradients()
        np.testing.assert_array_equal(other[0], of_a)
