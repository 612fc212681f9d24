"""Results and their plans."""
import copy
import pickle

import numpy as np
import pytest

import fedsinkhorn
from fedsinkhorn import InputError, solve


@pytest.fixture
def result(clouds):
    return solve(clouds, epsilon=0.02)


def test_rows_and_slices(result):
    dense = result.plan.dense()
    assert result.plan.shape == dense.shape == (40, 30) and len(result.plan) == 40
    np.testing.assert_array_equal(result.plan[7], dense[7])
    np.testing.assert_array_equal(result.plan[-1], dense[-1])
    np.testing.assert_array_equal(result.plan[3:9], dense[3:9])
    np.testing.assert_array_equal(result.plan[9:3], dense[9:3])
    np.testing.assert_array_equal(result.plan[30:3:-7], dense[30:3:-7])
    assert result.plan[2, 5] == dense[2, 5] and np.isscalar(result.plan[2, 5])
    np.testing.assert_array_equal(result.plan[2:4, 1:7], dense[2:4, 1:7])
    np.testing.assert_array_equal(result.plan.rows(0, 0), dense[:0])
    np.testing.assert_array_equal(np.asarray(result.plan), dense)
    np.testing.assert_array_equal(np.array(list(result.plan)), dense)


def test_dense_into_an_array(result):
    dense = result.plan.dense()
    for out in (np.full((40, 30), -1.0), np.full((40, 30), -1.0, order="F"), np.full((80, 30), -1.0)[::2]):
        assert result.plan.dense(out=out) is out
        np.testing.assert_array_equal(out, dense)
    np.testing.assert_allclose(result.plan.dense(out=np.empty((40, 30), np.float32)), dense, rtol=1e-6, atol=1e-37)
    read_only = np.empty((40, 30))
    read_only.flags.writeable = False
    for wrong in (np.empty((30, 40)), [[1.0]], 3, dense.tolist(), np.empty((40, 30), int), np.empty((40, 30), complex),
                  read_only):
        with pytest.raises(InputError, match="^out: "):
            result.plan.dense(out=wrong)
    assert result.plan.device is None


@pytest.mark.parametrize("index", [40, -41, "a", 1.5, (1, 2, 3), None, np.array([1, 2]), True])
def test_rows_that_are_not_there(result, index):
    with pytest.raises(IndexError):
        result.plan[index]


@pytest.mark.parametrize("rows", [(-1, 3), (3, 2), (0, 41), (10**30, 10**31)])
def test_ranges_that_are_not_there(result, rows):
    with pytest.raises((IndexError, OverflowError)):
        result.plan.rows(*rows)


def test_products_without_the_plan(result, rng):
    dense = result.plan.dense()
    for values in (rng.random(30), rng.random((30, 3)), np.asfortranarray(rng.random((30, 4))), rng.random((30, 0))):
        np.testing.assert_allclose(result.plan.apply(values), dense @ values, atol=1e-15)
    for values in (rng.random(40), rng.random((40, 3))):
        np.testing.assert_allclose(result.plan.apply_transposed(values), dense.T @ values, atol=1e-15)
    values = rng.random((30, 2))
    means = (dense @ values) / dense.sum(1, keepdims=True)
    np.testing.assert_allclose(result.plan.barycentric(values), means, atol=1e-13)
    with pytest.raises(InputError):
        result.plan.apply(rng.random(40))
    with pytest.raises(InputError):
        result.plan.apply("abc")


def test_new_rows(result, clouds, rng):
    X, Y = clouds
    np.testing.assert_allclose(result.extend(X).barycentric(Y), result.plan.barycentric(Y), atol=1e-9)
    new = result.extend(rng.random((5, 2))).dense()
    assert new.shape == (5, 30)
    np.testing.assert_allclose(new.sum(1), 0.2, rtol=1e-12)
    for wrong in (rng.random((5, 3)), np.full((2, 2), np.nan), np.array([[1, np.inf]])):
        with pytest.raises(InputError, match="^X: "):
            result.extend(wrong)
    of_costs = solve(rng.random((4, 3)), epsilon=0.1)
    for wrong in (np.ones((2, 4)), [[1, np.nan, 1]], [[1, -np.inf, 1]], [[np.inf] * 3]):
        with pytest.raises(InputError, match="^C: "):
            of_costs.extend(wrong)
    np.testing.assert_allclose(of_costs.extend([[np.inf, 1, 2]]).dense().sum(), 1, rtol=1e-14)


def test_new_rows_far_from_all_others_keep_their_masses(result):
    far = np.array([[1e4, 1e4], [-1e5, 3e5], [0.5, 0.5]])
    np.testing.assert_allclose(result.extend(far).dense().sum(1), 1 / 3, rtol=1e-13)


def test_potentials_are_read_only_and_outlive_the_result(clouds):
    f = solve(clouds, epsilon=0.02).f
    copied = f.copy()
    with pytest.raises(ValueError):
        f[0] = 1
    np.testing.assert_array_equal(f, copied)


def test_the_plan_keeps_what_it_needs(clouds):
    X, Y = clouds
    plan = solve((X.copy(), Y.copy()), epsilon=0.02).plan
    np.testing.assert_allclose(plan.dense().sum(), 1)


def test_pictures_of_a_result(result):
    text = repr(result)
    assert "converged" in text and "40 x 30" in text
    page = result._repr_html_()
    assert "<table>" in page and "<polyline" in page and "kl objective" in page
    assert "40 x 30" in repr(result.plan)
    solve(np.zeros((2, 2)), epsilon=1)._repr_html_()


def test_trace_and_summary(result):
    trace = result.trace
    assert trace["iteration"][-1] == result.iterations and set(map(len, trace.values())) == {len(trace["error_a"])}
    assert result.summary["status"] == "converged" and result.summary["version"] == fedsinkhorn.__version__
    assert result.summary["cost"]["linear"] == result.cost.linear


@pytest.mark.parametrize("duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_pickle(result, duplicate):
    other = duplicate(result)
    np.testing.assert_array_equal(other.plan.dense(), result.plan.dense())
    np.testing.assert_array_equal(other.f, result.f)
    assert repr(other) == repr(result) and other.summary == result.summary
    assert other._repr_html_() == result._repr_html_()


def test_a_pickle_needs_no_files(costs, tmp_path):
    scenario = tmp_path / "scenario.json"
    scenario.write_text("{}")
    result = solve(costs, epsilon=0.05, clients=2, transport="simulated", scenario=scenario)
    pickled = pickle.dumps(result)
    scenario.unlink()
    np.testing.assert_array_equal(pickle.loads(pickled).plan.dense(), result.plan.dense())


def test_targets_that_are_not_there(result):
    for wrong in (1, -2, "a", 0.5):
        for call in (result.plan.target, result.gradients, result.mass_gradients):
            with pytest.raises(IndexError):
                call(wrong)
    np.testing.assert_array_equal(result.mass_gradients(-1)[0], result.mass_gradients(0)[0])


def test_a_pickle_that_was_changed_is_refused(result):
    pickled = result.__getstate__()
    pickled["state"]["f"] = pickled["state"]["f"][:3]
    pickled["state"]["targets"] = 7
    with pytest.raises(InputError):
        fedsinkhorn.Result.__new__(fedsinkhorn.Result).__setstate__(pickled)


def test_gradients_of_costs_are_the_plan(costs):
    def value(C):
        return solve(C, epsilon=0.05, tolerance=1e-13).cost.kl_objective

    plan = solve(costs, epsilon=0.05, tolerance=1e-13).plan.dense()
    for i, j in ((0, 0), (7, 11), np.unravel_index(plan.argmax(), plan.shape)):
        step = np.zeros_like(costs)
        step[i, j] = 1e-4
        quotient = (value(costs + step) - value(costs - step)) / 2e-4
        assert quotient == pytest.approx(plan[i, j], rel=1e-6, abs=1e-6 * plan.max())
