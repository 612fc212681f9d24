"""Risk, privacy and predictions: what the command line has, as functions."""
import numpy as np
import pytest

import fedsinkhorn
from fedsinkhorn import InputError, privacy


@pytest.fixture
def market(rng):
    return dict(returns=rng.normal(0, 0.01, (60, 3)), scenarios=rng.normal(0, 0.02, (80, 3)), weights=[0.5, 0.3, 0.2])


def test_risk(market):
    settings = dict(radius=1e-4, epsilon=1e-4, are_gains=True, may_stay=True)
    result = fedsinkhorn.risk(**market, **settings)
    assert result.status == "converged" and result.loss > result.expected_loss
    assert result.expected_loss == pytest.approx(-(market["returns"] @ market["weights"]).mean())
    assert result.summary["transport_cost"] <= 1e-4 * (1 + 1e-6) and len(result.losses_after) == 60
    together = fedsinkhorn.risk(**market, **settings, clients=3, policy="sums")
    assert together.loss == pytest.approx(result.loss, rel=1e-6)
    sweep = fedsinkhorn.risk(**market, **settings, radii=[1e-5, 1e-4, 1e-3]).sweep
    assert [one["radius"] for one in sweep] == [1e-5, 1e-4, 1e-3]
    assert sweep[0]["worst_case_loss"] < sweep[2]["worst_case_loss"]
    assert "worst case" in repr(result)


def test_risk_from_costs_and_losses(rng):
    given = dict(scenario_losses=[1.0, 2, 3, 4], radius=0.5, epsilon=0.01)
    costs = rng.random((5, 4))
    result = fedsinkhorn.risk(costs=costs, **given)
    assert result.scenario_weights.sum() == pytest.approx(1) and result.expected_loss is None
    copied = fedsinkhorn.risk(costs=np.asfortranarray(costs), **given)
    np.testing.assert_array_equal(copied.scenario_weights, result.scenario_weights)


@pytest.mark.parametrize("change, message", [
    (dict(radius=-1), "radius: "), (dict(epsilon=0), "epsilon: "), (dict(weights=[1.0]), "weights: "),
    (dict(cost="taxi"), "cost: unknown name 'taxi'"), (dict(returns=None), ""), (dict(are_gains=3), "are_gains: "),
    (dict(returns=[1.0]), "returns: has 1 dimensions"), (dict(cvar_level=2), "cvar_level: "),
    (dict(a=[]), "a: is empty"), (dict(weights=[]), "weights: is empty"),
    (dict(radii=[1.0, float("nan")]), "radii: nan is no radius")])
def test_risk_names_what_is_wrong(market, change, message):
    with pytest.raises(InputError) as caught:
        fedsinkhorn.risk(**{**market, "radius": 1e-4, "epsilon": 1e-4, "may_stay": True, **change})
    assert str(caught.value).startswith(message)


def test_privacy():
    noise = privacy.calibrate(1, 1e-6, sensitivity=2.0, releases=10)
    account = privacy.account(noise["sigma"], 2.0, 10, delta=1e-6)
    assert account["epsilon"] == noise["epsilon"] == pytest.approx(1)
    assert account["epsilon"] <= account["epsilon_rdp"] <= account["epsilon_rdp_paper"]
    several = privacy.account([1.0, 2.0], 1.0, [3, 4], delta=1e-6)
    assert several["mu"] == pytest.approx(np.sqrt(3 + 1))


@pytest.mark.parametrize("call, message", [
    (lambda: privacy.account(0, 1, delta=1e-6), "sigma: "),
    (lambda: privacy.account(1, -1, delta=1e-6), "sensitivity: "),
    (lambda: privacy.account(1, 1, delta=2), "delta: "), (lambda: privacy.account(1, 1, 0, delta=0.1), "releases: "),
    (lambda: privacy.account([1, 2], [1, 2, 3], delta=0.1), "sigma: has 2 values"),
    (lambda: privacy.account("a", 1, delta=0.1), "sigma: "), (lambda: privacy.account([], 1, delta=0.1), "sigma: "),
    (lambda: privacy.calibrate(0, 1e-6, 1), "epsilon: "), (lambda: privacy.calibrate(1, 1e-6, 1, 1.5), "releases: ")])
def test_privacy_names_what_is_wrong(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_private_runs(rng):
    points = rng.random((3000, 2)), rng.random((5, 2))
    result = fedsinkhorn.solve(points, epsilon=0.1, clients=3, policy="private", budget=(1, 1e-6))
    assert result.status == "budget_spent"
    assert result.summary["privacy"]["epsilon_exact"] <= 1


def test_predictions():
    assert "office" in fedsinkhorn.shipped_profiles()
    one = fedsinkhorn.predict("office", 20000, clients=8, topology="star")
    assert one["topology"] == "star" and one["seconds_per_iteration"] > 0 and one["total_seconds"] > 0
    plan = fedsinkhorn.plan_topology("office", 20000, clients=8, memory_per_client=4e9)
    assert plan["options"][0]["feasible"] and plan["options"][0]["seconds"] > 0
    for wrong in (dict(profile="nowhere"), dict(rows=0), dict(rows="a"), dict(topology="ring"), dict(profile=3)):
        with pytest.raises(InputError):
            fedsinkhorn.predict(**{"profile": "office", "rows": 100, **wrong})
