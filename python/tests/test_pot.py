"""POT's calls."""
import re
import warnings

import numpy as np
import pytest

import fedsinkhorn
from fedsinkhorn import pot

ot = pytest.importorskip("ot", reason="POT is not installed")


@pytest.fixture
def masses(rng):
    a, b = rng.random(40), rng.random(30)
    return a / a.sum(), b / b.sum()


def test_sinkhorn_gives_the_plan_of_pot(costs, masses):
    expected = ot.sinkhorn(*masses, costs, 0.05, stopThr=1e-12, numItermax=10000)
    np.testing.assert_allclose(pot.sinkhorn(*masses, costs, 0.05, stopThr=1e-12), expected, atol=1e-11)
    uniform = ot.sinkhorn([], [], costs, 0.05, stopThr=1e-11)
    np.testing.assert_allclose(pot.sinkhorn([], [], costs, 0.05), uniform, atol=1e-9)


def test_sinkhorn_logs_what_pot_logs(costs, masses):
    _, theirs = ot.sinkhorn(*masses, costs, 0.05, log=True)
    plan, ours = pot.sinkhorn(*masses, costs, 0.05, log=True)
    assert set(theirs) <= set(ours)
    np.testing.assert_allclose(ours["u"][:, None] * np.exp(-costs / 0.05) * ours["v"][None], plan, rtol=1e-10)
    _, theirs = ot.sinkhorn(*masses, costs, 0.05, log=True, method="sinkhorn_log")
    assert set(theirs) <= set(ours)
    again = pot.sinkhorn(*masses, costs, 0.05, log=True, warmstart=ours["warmstart"])[1]
    assert again["niter"] < ours["niter"]


def test_no_regularisation_is_a_warning_and_nan(costs, masses):
    several = np.stack([masses[1], masses[1]], 1)
    with pytest.warns(UserWarning, match="reg is 0"):
        plan, log = pot.sinkhorn(*masses, costs.astype(np.float32), 0, warn=False, log=True)
    assert plan.shape == costs.shape and plan.dtype == np.float32 and np.isnan(plan).all()
    assert log["u"].shape == (40,) and log["v"].shape == (30,) and log["niter"] == 0
    for call in (pot.sinkhorn, pot.sinkhorn2):
        with pytest.warns(UserWarning, match="reg is 0"):
            losses = call(masses[0], several, costs, 0.0)
        assert losses.shape == (2,) and np.isnan(losses).all()
    with pytest.warns(UserWarning, match="reg is 0"):
        assert np.isnan(pot.sinkhorn2([], [], costs, 0))


def test_sinkhorn2_gives_the_losses_of_pot(costs, masses, rng):
    a, b = masses
    assert pot.sinkhorn2(a, b, costs, 0.05) == pytest.approx(float(ot.sinkhorn2(a, b, costs, 0.05)), rel=1e-7)
    several = rng.random((30, 3))
    several /= several.sum(0)
    expected = ot.sinkhorn2(a, several, costs, 0.05, stopThr=1e-12, numItermax=10000)
    np.testing.assert_allclose(pot.sinkhorn2(a, several, costs, 0.05), expected, rtol=1e-7)
    np.testing.assert_allclose(pot.sinkhorn(a, several, costs, 0.05), expected, rtol=1e-7)


def test_divergence_is_that_of_pot(clouds):
    X, Y = clouds
    expected = float(ot.bregman.empirical_sinkhorn_divergence(X, Y, 0.05))
    assert pot.empirical_sinkhorn_divergence(X, Y, 0.05) == pytest.approx(expected, rel=1e-6)
    value, log = pot.empirical_sinkhorn_divergence(X, Y, 0.05, log=True)
    assert value == pytest.approx(expected, rel=1e-6)
    assert set(ot.bregman.empirical_sinkhorn_divergence(X, Y, 0.05, log=True)[1]) == set(log)


def test_solve_has_the_values_of_its_plan(clouds, costs, masses):
    a, b = masses
    result = pot.solve(costs, a, b, reg=0.05)
    plan = result.plan
    np.testing.assert_allclose(plan, ot.sinkhorn(a, b, costs, 0.05, stopThr=1e-12), atol=1e-9)
    assert result.value_linear == pytest.approx((plan * costs).sum(), rel=1e-9)
    divergence = (plan * np.log(plan / a[:, None] / b)).sum()
    assert result.value == pytest.approx((plan * costs).sum() + 0.05 * divergence, rel=1e-7)
    entropy = pot.solve(costs, a, b, reg=0.05, reg_type="entropy").value
    assert entropy == pytest.approx((plan * costs).sum() + 0.05 * (plan * np.log(plan)).sum(), rel=1e-7)
    f, g = result.potentials
    np.testing.assert_allclose(np.exp((f[:, None] + g[None] - costs) / 0.05), plan, atol=1e-13)
    np.testing.assert_allclose(result.marginal_a, a, atol=1e-9)
    np.testing.assert_allclose(result.marginals[1], b, atol=1e-9)
    assert result.status == "Converged" and "value=" in repr(result)
    for lazy in (False, True):
        sample = pot.solve_sample(*clouds, a, b, reg=0.05, lazy=lazy)
        np.testing.assert_allclose(sample.plan, plan, atol=1e-9)


@pytest.mark.parametrize("call, message", [
    (lambda C: pot.sinkhorn([], [], C, -1), "reg: "),
    (lambda C: pot.sinkhorn([], [], C * np.nan, 1), "M: "),
    (lambda C: pot.sinkhorn([], [], C, 1, numItermax=0), "numItermax: "),
    (lambda C: pot.sinkhorn([], [], C, 1, stopThr=-1), "stopThr: "),
    (lambda C: pot.sinkhorn([], [], C, 1, method="new"), "method: Unknown method 'new'"),
    (lambda C: pot.sinkhorn2([], [], C, 1, method="greenkhorn"), "method: "),
    (lambda C: pot.sinkhorn([1, 2], [], C, 1), "a: "),
    (lambda C: pot.solve(C), "reg: exact transport"),
    (lambda C: pot.solve(C, reg=1, unbalanced=1), "unbalanced: "),
    (lambda C: pot.solve(C, reg=1, reg_type="L2"), "reg_type: "),
    (lambda C: pot.solve(C, reg=1, plan_init=C), "plan_init: "),
    (lambda C: pot.solve(C, reg=1, c=C), "c: is not supported"),
    (lambda C: pot.solve_sample(C, C[:, 0], reg=1), "X_b: "),
    (lambda C: pot.empirical_sinkhorn_divergence(C, C[:, 0], 1), "X_t: ")])
def test_errors_name_the_arguments_of_pot(costs, call, message):
    with pytest.raises(ValueError) as caught:
        call(costs)
    assert str(caught.value).startswith(message)


def test_warnings(costs):
    with pytest.warns(UserWarning, match="did not converge") as seen:
        pot.sinkhorn([], [], costs, 0.05, numItermax=1)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pot.sinkhorn([], [], costs, 0.05, numItermax=1, warn=False)


def test_verbose(costs, capsys):
    pot.sinkhorn([], [], costs, 0.01, verbose=True)
    assert "It." in capsys.readouterr().out


def test_types_follow_the_costs(costs):
    assert pot.sinkhorn([], [], costs.astype(np.float32), 0.05).dtype == np.float32
    assert pot.sinkhorn([], [], costs.tolist(), 0.05).dtype == np.float64
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    M = torch.tensor(costs, dtype=torch.float32)
    assert pot.sinkhorn([], [], M, 0.05).dtype == torch.float32
    with pytest.warns(UserWarning, match="sinkhorn: its result has no gradients"):
        pot.sinkhorn([], [], M.clone().requires_grad_(), 0.05)
    M = torch.tensor(costs, requires_grad=True)
    pot.sinkhorn2([], [], M, 0.05).backward()
    np.testing.assert_allclose(M.grad.numpy(), pot.sinkhorn([], [], costs, 0.05), atol=1e-9)
    M.grad = None
    loss, log = pot.sinkhorn2([], [], M, 0.05, log=True)
    loss.backward()
    np.testing.assert_allclose(M.grad.numpy(), pot.sinkhorn([], [], costs, 0.05), atol=1e-9)
    assert log["niter"] > 0 and not log["u"].requires_grad
    X = torch.rand(5, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="divergence: its result has no gradients"):
        pot.empirical_sinkhorn_divergence(X, X.detach() + 1, 0.5)
    whole = (10 * M.detach()).int()
    for result in (pot.sinkhorn([], [], whole, 1.0), pot.sinkhorn2([], [], whole, 1.0), pot.solve(whole, reg=1.0).plan):
        assert result.dtype == torch.float64
    np.testing.assert_array_equal(pot.sinkhorn([], [], whole, 1.0), pot.sinkhorn([], [], whole.numpy(), 1.0))


def test_patching(costs):
    theirs, of_bregman = ot.sinkhorn, ot.bregman.sinkhorn
    had_solve = hasattr(ot, "solve")
    try:
        places = fedsinkhorn.patch_pot()
        assert "ot.sinkhorn" in places and "ot.bregman.sinkhorn" in places
        assert fedsinkhorn.patch_pot() == places
        assert ot.optim.sinkhorn is theirs
        assert ot.sinkhorn is pot.sinkhorn and ot.bregman.sinkhorn2 is pot.sinkhorn2 and ot.solve is pot.solve
        transport = ot.da.SinkhornTransport(reg_e=0.05).fit(Xs=costs[:, :2], Xt=costs[:20, :2])
        assert transport.coupling_.shape == (40, 20)
    finally:
        fedsinkhorn.unpatch_pot()
    assert ot.sinkhorn is theirs and ot.bregman.sinkhorn is of_bregman and hasattr(ot, "solve") == had_solve


@pytest.fixture
def patched():
    fedsinkhorn.patch_pot()
    yield
    fedsinkhorn.unpatch_pot()


@pytest.fixture
def ours(monkeypatch):
    """Results of our solves, as they are made."""
    results, solve = [], pot._solve

    def spy(*arguments, **options):
        results.append(solve(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(pot, "_solve", spy)
    return results


def classes(rng):
    """Two labelled samples; 2 of 6 source points have label 0, but 3 of 6 target points."""
    Xs, Xt = rng.random((6, 2)), rng.random((6, 2))
    return Xs, np.array([0, 0, 1, 1, 1, 1]), Xt, np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("transport", ["SinkhornTransport", "SinkhornLpl1Transport", "SinkhornL1l2Transport",
                                       "UnbalancedSinkhornTransport"])
def test_labels_without_a_feasible_plan_are_for_pot(patched, rng, transport):
    Xs, ys, Xt, yt = classes(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(ot.da, transport)().fit(Xs=Xs, ys=ys, Xt=Xt, yt=yt)
        of_pot = _of_pot(lambda: getattr(ot.da, transport)().fit(Xs=Xs, ys=ys, Xt=Xt, yt=yt).coupling_)
    np.testing.assert_array_equal(model.coupling_, of_pot)


def _of_pot(call):
    """The same without our functions, which are put back."""
    fedsinkhorn.unpatch_pot()
    try:
        return call()
    finally:
        fedsinkhorn.patch_pot()


def test_what_is_refused_is_solved_by_pot_with_one_warning_for_each_reason(patched, costs, masses):
    a, b = masses
    off = b * (1 + 1e-6)
    calls = [lambda: ot.sinkhorn(a, off, costs, 0.05), lambda: ot.sinkhorn(a, b * (1 - 1e-5), costs, 0.05),
             lambda: ot.sinkhorn2(a, off, costs, 0.05), lambda: ot.sinkhorn(a, b, costs, 0.05, numItermax=0)]
    results, told = [], []
    for call in 2 * calls:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            results.append(call())
        mine = [str(one.message) for one in seen if "POT's own function" in str(one.message)]
        assert all(one.filename == __file__ for one in seen if str(one.message) in mine)
        told.append(mine)
    assert [len(mine) for mine in told] == [1, 0, 1, 1, 0, 0, 0, 0]
    assert told[0][0].startswith("ot.sinkhorn: POT's own function solves this, fedsinkhorn does not (b: total mass is ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for result, call in zip(results, calls):
            np.testing.assert_array_equal(result, _of_pot(call))


def test_metrics_that_only_pot_has_get_its_costs_and_our_solver(patched, clouds, ours):
    X, Y = clouds
    call = lambda: ot.bregman.empirical_sinkhorn_divergence(X, Y, 0.05, metric="cityblock")
    with pytest.warns(UserWarning, match="POT's own function solves this.*metric: unknown name 'cityblock'"):
        value = call()
    assert value == pytest.approx(float(_of_pot(call)), rel=1e-6)
    assert len(ours) == 3


def test_what_can_be_solved_is_solved_by_ours(patched, rng, ours):
    a, b = rng.integers(1, 5, 6), rng.integers(1, 5, 5)
    b[0] += a.sum() - b.sum() + 20
    a[0] += 20
    M = rng.integers(0, 9, (6, 5))
    forbidden = M.astype(float)
    forbidden[0, 1] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (M, M.tolist(), np.asfortranarray(M), M.astype(">f8"), forbidden, M[:, ::-1]):
            ot.sinkhorn(a, b, given, 1.0, numItermax=10000)
            ot.sinkhorn(a[:, None], b, given, 1.0, numItermax=10000)
            ot.sinkhorn2(a, np.stack([b, b], 1), given, 1e-3, numItermax=10000)
    assert len(ours) == 18 and all(result.converged for result in ours)


@pytest.mark.parametrize("call, kind, message", [
    (lambda M: ot.sinkhorn([], [], M, 1, method="new"), ValueError, "Unknown method 'new'."),
    (lambda M: ot.sinkhorn([], []), TypeError, "sinkhorn() missing 2 required positional arguments"),
    (lambda M: ot.sinkhorn([0.5, 0.5], [], M, 1), Exception, ""),
    (lambda M: ot.sinkhorn([], [], "text", 1), Exception, "")])
def test_errors_of_the_caller_are_those_of_pot(patched, costs, call, kind, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as theirs:
            _of_pot(lambda: call(costs))
        with pytest.raises(kind, match="^" + re.escape(message)) as caught:
            call(costs)
    assert caught.type is theirs.type and str(caught.value) == str(theirs.value)


def test_gradients_of_plans_are_those_of_pot(patched, costs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    M = torch.tensor(costs, requires_grad=True)
    with pytest.warns(UserWarning, match="POT's own function solves this.*no gradients"):
        plan = ot.sinkhorn(torch.ones(40) / 40, torch.ones(30) / 30, M, 0.5)
    (plan[0, 0]).backward()
    assert M.grad.abs().sum() > 0
    with torch.no_grad(), pytest.warns(UserWarning, match="its result has no gradients"):
        assert not ot.sinkhorn([], [], M, 0.5).requires_grad


def test_errors_name_what_pot_has(costs):
    with pytest.raises(fedsinkhorn.InputError, match="^b: total mass is 30 but that of a is 40; scale them alike$"):
        pot.sinkhorn(np.ones(40), np.ones(30), costs, 0.05)
    with pytest.raises(fedsinkhorn.InputError, match="^a: has 0 dimensions"):
        pot.sinkhorn(3, [], costs, 0.05)
