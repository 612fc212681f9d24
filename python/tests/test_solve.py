"""solve(): what it accepts, gives and refuses."""
import inspect
import pickle
import warnings

import numpy as np
import pytest
from conftest import reference_plan

import fedsinkhorn
from fedsinkhorn import InputError, solve


def test_plan_is_that_of_the_reference(costs, rng):
    a, b = rng.random(40), rng.random(30)
    a[3] = b[7] = 0
    a, b = a / a.sum(), b / b.sum()
    costs[5, 6] = np.inf
    result = solve(costs, a, b, epsilon=0.05, tolerance=1e-12)
    assert result.converged and result.status == "converged"
    np.testing.assert_allclose(result.plan.dense(), reference_plan(costs, a, b, 0.05), atol=1e-12)
    assert result.f[3] == -np.inf and result.g[7] == -np.inf


def test_potentials_define_the_plan(costs):
    result = solve(costs, epsilon=0.05)
    plan = np.exp((result.f[:, None] + result.g[None] - costs) / 0.05)
    np.testing.assert_allclose(result.plan.dense(), plan, atol=1e-14)
    assert result.cost.linear == pytest.approx((plan * costs).sum(), rel=1e-9)
    assert result.cost.shannon_entropy == pytest.approx(-(plan * np.log(plan)).sum(), rel=1e-9)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine"])
def test_points_are_as_good_as_their_costs(clouds, metric):
    X, Y = clouds
    C = {"sqeuclidean": lambda: ((X[:, None] - Y[None]) ** 2).sum(-1),
         "euclidean": lambda: np.sqrt(((X[:, None] - Y[None]) ** 2).sum(-1)),
         "cosine": lambda: 1 - (X / np.linalg.norm(X, axis=1)[:, None]) @ (Y / np.linalg.norm(Y, axis=1)[:, None]).T}
    by_points = solve((X, Y), epsilon=0.05, metric=metric, kernel="online")
    by_costs = solve(C[metric](), epsilon=0.05)
    assert by_points.cost.linear == pytest.approx(by_costs.cost.linear, rel=1e-8)


@pytest.mark.parametrize("change", [
    lambda C: C.astype(np.float32), np.asfortranarray, lambda C: C[::1, ::1].copy()[:, ::-1][:, ::-1],
    lambda C: np.repeat(np.repeat(C, 2, 0), 2, 1)[::2, ::2], lambda C: C.astype(">f8"), lambda C: C.tolist(),
    lambda C: C.astype(np.longdouble), lambda C: np.ma.masked_array(C)])
def test_arrays_of_every_layout(costs, change):
    costs = costs.astype(np.float32).astype(np.float64)  # what float32 can hold
    expected = solve(costs, epsilon=0.05)
    result = solve(change(costs), epsilon=0.05)
    np.testing.assert_array_equal(result.g, expected.g)


def test_nothing_is_copied_that_need_not_be(costs):
    for kind in (np.float32, np.float64):
        for given in (costs.astype(kind), costs.astype(kind, order="F"), costs.astype(kind).T):
            result = solve(given, epsilon=0.05)
            assert result._inputs["C"] is given


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[:, ::2], np.s_[1:, 1:], np.s_[::-1]])
def test_other_strides_are_copied(costs, part):
    for given in (costs[part], np.asfortranarray(costs)[part]):
        result = solve(given, epsilon=0.05)
        assert not np.shares_memory(result._inputs["C"], given)
        np.testing.assert_array_equal(result.g, solve(given.copy(), epsilon=0.05).g)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"clients": 3}, {"clients": 3, "topology": "all-to-all"},
                                     {"kernel": "online"}, {"stabilization": "log"}])
def test_fortran_order_gives_the_same_bits(costs, rng, kind, options):
    a, b = rng.random(40), rng.random((30, 2))
    a[3] = b[7] = 0
    a, b = a / a.sum(), b / b.sum(0)
    costs[5, 6] = np.inf
    by_rows = costs.astype(kind)
    by_columns = np.asfortranarray(by_rows)
    expected = solve(by_rows, a, b, epsilon=0.05, **options)
    solved = solve(by_columns, a, b, epsilon=0.05, **options)
    for result in (solved, pickle.loads(pickle.dumps(solved))):
        np.testing.assert_array_equal(result.f, expected.f)
        np.testing.assert_array_equal(result.g, expected.g)
        assert result.cost == expected.cost
        np.testing.assert_array_equal(result.plan.target(1).dense(), expected.plan.target(1).dense())
        np.testing.assert_array_equal(result.plan.apply_transposed(a), expected.plan.apply_transposed(a))
        np.testing.assert_array_equal(result.mass_gradients()[0], expected.mass_gradients()[0])
        np.testing.assert_array_equal(result.extend(by_columns[:9]).dense(), expected.extend(by_rows[:9]).dense())
        np.testing.assert_array_equal(result.extend(np.asfortranarray(by_columns[:9])).dense(),
                                      expected.extend(by_rows[:9]).dense())
    assert (fedsinkhorn.predicted_bytes(by_columns, a, b, epsilon=0.05, **options)
            == fedsinkhorn.predicted_bytes(by_rows, a, b, epsilon=0.05, **options))


@pytest.mark.parametrize("shape", [(40, 1), (1, 30), (1, 1)])
def test_a_single_line_is_in_both_orders(costs, shape):
    part = costs[:shape[0], :shape[1]]
    expected = solve(np.ascontiguousarray(part), epsilon=0.05)
    np.testing.assert_array_equal(solve(np.asfortranarray(part), epsilon=0.05).f, expected.f)


def test_the_first_bad_cost_in_fortran_order(costs):
    costs[4, 2] = costs[3, 20] = np.nan
    with pytest.raises(InputError, match=r"C: entry \(3, 20\) is nan"):
        solve(np.asfortranarray(costs), epsilon=0.05)


def test_dlpack_without_a_copy(costs):
    class Producer:
        def __dlpack__(self, **keywords):
            return costs.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return costs.__dlpack_device__()

    result = solve(Producer(), epsilon=0.05)
    assert result._inputs["C"].ctypes.data == costs.ctypes.data


def test_several_targets(costs, rng):
    b = rng.random((30, 3))
    b /= b.sum(0)
    result = solve(costs, None, b, epsilon=0.05)
    assert result.f.shape == (40, 3) and result.g.shape == (30, 3) and len(result.per_target) == 3
    for k in range(3):
        alone = solve(costs, None, b[:, k], epsilon=0.05)
        np.testing.assert_allclose(result.plan.target(k).dense(), alone.plan.dense(), atol=1e-9)
        assert result.per_target[k].cost.linear == pytest.approx(alone.cost.linear, rel=1e-7)
    assert result.cost.linear == pytest.approx(sum(target.cost.linear for target in result.per_target))
    assert solve(costs, None, b[:, :1], epsilon=0.05).g.shape == (30, 1)


def test_every_option_of_the_table_is_an_argument():
    signature = inspect.signature(solve)
    for option in fedsinkhorn._core.options():
        parameter = signature.parameters[option["name"]]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n{option['name']} : " in solve.__doc__ or option["name"] == "epsilon"
    assert "--" not in solve.__doc__.replace("---", "")  # arguments, not flags


@pytest.mark.parametrize("options", [
    dict(method="sinkhorn"), dict(kernel="online"), dict(precision="float32", tolerance=1e-5), dict(precision=50),
    dict(norm="linf"), dict(threads=1), dict(history=5), dict(passes="two"), dict(clients=3, row_weights=[1, 2, 1]),
    dict(clients=4, topology="grid", grid=(2, 2)), dict(clients=2, topology="star"), dict(max_iterations=1e4),
    dict(clients=3, policy="sums"), dict(clients=2, topology="async", damping=0.9, max_staleness=8),
    dict(stabilization="log", max_iterations=np.int64(20000)), dict(simd="baseline"), dict(normalize=True)])
def test_options(costs, options):
    expected = solve(costs, epsilon=0.05).cost.linear
    assert solve(costs, epsilon=0.05, **options).cost.linear == pytest.approx(expected, rel=1e-4)


def test_what_sums_give_away_is_counted_and_warned_of(costs):
    with pytest.warns(fedsinkhorn.PrivacyWarning, match="determined in principle"):
        privacy = solve(costs, epsilon=0.01, clients=3, policy="sums").summary["privacy"]
    assert privacy["sums_seen"] >= privacy["unknown"] > 0 and privacy["matrices_summed"] == 0
    rows = np.random.default_rng(1).random((300, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        privacy = solve(rows, epsilon=0.1, clients=3, policy="sums", most_sums=900).summary["privacy"]
    assert privacy["sums_seen"] <= 900 < privacy["unknown"]


@pytest.mark.parametrize("options, message", [
    (dict(tolerance=-1), "tolerance: -1 is not a tolerance"),
    (dict(tolerance=float("nan")), "tolerance: "),
    (dict(tolerance="1"), "tolerance: a str was given"),
    (dict(tolerance=True), "tolerance: a bool was given"),
    (dict(tolerance=1j), "tolerance: a complex was given"),
    (dict(max_iterations=0), "max_iterations: "),
    (dict(max_iterations=1.5), "max_iterations: 1.5 is no whole number"),
    (dict(max_iterations=10**30), "max_iterations: 1000000000000000000000000000000 is too large"),
    (dict(normalize=1), "normalize: a int was given; give True or False"),
    (dict(norm="l7"), "norm: unknown name 'l7'; choose l1, l2 or linf"),
    (dict(method="fast"), "method: unknown name 'fast'"),
    (dict(grid="2x3"), "grid: a str was given"),
    (dict(row_weights=[1, "a"], clients=2), "row_weights: a str was given"),
    (dict(clients=2, topology="centralized"), "topology: 'centralized' is for one client"),
    (dict(damping=0.5), "damping: the topology is centralized"),
    (dict(scenario="/nowhere.json"), "scenario: /nowhere.json: cannot be opened"),
    (dict(scenario=3), "scenario: a int was given; give a path"),
    (dict(metric="cosine"), "metric: costs were given, not points"),
    (dict(on_failure="cry"), "on_failure: unknown name 'cry'"),
    (dict(callback=3), "callback: a int cannot be called"),
    (dict(a=[]), "a: is empty"),
    (dict(b=np.zeros((30, 0))), "b: is empty"),
    (dict(b=np.zeros((0, 3))), "b: is empty"),
    (dict(initial_g=[]), "initial_g: is empty"),
    (dict(parts=3), "parts: is no list of names"),
    (dict(parts=["a"]), "parts: only clients in processes of their own"),
    (dict(mass_tolerance=2), "mass_tolerance: is not between 0 and 1"),
    (dict(comm=3), "comm: ")])
def test_bad_options_are_named(costs, options, message):
    with pytest.raises(InputError) as caught:
        solve(costs, epsilon=0.05, **options)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, ValueError)
    assert "--" not in str(caught.value) and "`" not in str(caught.value)


@pytest.mark.parametrize("arguments, message", [
    ((None,), "C: a NoneType was given"), (("abc",), "C: a str was given"), ((np.array([["a"]]),), "C: has the type"),
    ((np.zeros(3),), "C: has 1 dimensions; give 2"), ((np.zeros((0, 3)),), "C: has no entries"),
    ((np.full((2, 2), np.nan),), "C: entry (0, 0) is nan"), ((np.full((2, 2), -np.inf),), "C: entry (0, 0) is -inf"),
    ((np.full((2, 2), np.inf),), ""), ((np.zeros((2, 2)) * 1j,), "C: has the type complex128"),
    ((np.array([[1, "x"]], dtype=object),), "C: has the type object"), (([[1, 2], [3]],), "C: "),
    ((np.zeros((2, 2)), [1, 2, 3]), "a: has 3 masses"), ((np.zeros((2, 2)), [-1, 2]), "a: "),
    ((np.zeros((2, 2)), None, [0.5, np.nan]), "b: "), ((np.zeros((2, 2)), [0.5, 0.5], [1, 1]), ""),
    ((np.zeros((2, 2)), [[1, 2]]), "a: has 2 dimensions; give 1"),
    ((np.zeros((2, 3)), np.zeros((4, 3))), "a: has 2 dimensions; give 1, and points as a pair: (X, Y), a, b"),
    (((np.zeros(3), np.zeros((2, 2))),), "X: has 1 dimensions"), (((np.zeros((3, 2)), np.zeros((2, 3))),), ""),
    (((np.full((2, 2), np.nan), np.zeros((2, 2))),), "X: "),
    ((np.ma.masked_array(np.zeros((2, 2)), [[0, 1], [0, 0]]),), "C: is masked")])
def test_bad_arrays_are_named(arguments, message):
    with pytest.raises(InputError) as caught:
        solve(*arguments, epsilon=0.05)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf, "a", None, [1], 1e-300])
def test_bad_epsilon_is_named(costs, epsilon):
    with pytest.raises(InputError, match="^epsilon: "):
        solve(costs, epsilon=epsilon)


def test_unknown_names_have_a_suggestion(costs):
    with pytest.raises(TypeError, match="no option 'tolerence'; did you mean 'tolerance'"):
        solve(costs, epsilon=0.05, tolerence=1)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'epsilon'$"):
        solve(costs)


@pytest.mark.parametrize("given, right", [
    ("eps", "epsilon"), ("reg", "epsilon"), ("tol", "tolerance"), ("max_iter", "max_iterations"),
    ("numItermax", "max_iterations"), ("stopThr", "tolerance"), ("memory", "history"), ("warmstart", "initial_g")])
@pytest.mark.parametrize("others", [{}, {"epsilon": 0.05}])
def test_names_of_the_command_line_and_of_pot_have_a_suggestion(costs, given, right, others):
    with pytest.raises(TypeError, match=rf"^solve\(\) has no option '{given}'; did you mean '{right}'\?$"):
        solve(costs, **others, **{given: 1})
    if right == "epsilon":
        for call in (lambda: fedsinkhorn.divergence(costs, costs, **{given: 1}),
                     lambda: fedsinkhorn.predicted_bytes(costs, **{given: 1}),
                     lambda: fedsinkhorn.risk(costs, costs, radius=1, **{given: 1})):
            with pytest.raises(TypeError, match=f"'{given}'; did you mean 'epsilon'"):
                call()


@pytest.mark.parametrize("order", [
    lambda C, a, b: solve(a, b, C, 0.05), lambda C, a, b: solve(C, a, b, 0.05),
    lambda C, a, b: solve(a, b, C, epsilon=0.05), lambda C, a, b: solve(a.tolist(), b.tolist(), C.tolist(), epsilon=0.05),
    lambda C, a, b: solve(a[:, None], b[:, None], C, epsilon=0.05), lambda C, a, b: solve(a[:, None], b, C, epsilon=0.05),
    lambda C, a, b: solve(a, epsilon=0.05)])
def test_a_wrong_order_is_answered_with_the_right_one(costs, order):
    with pytest.raises((TypeError, InputError), match=r"order is \(C, a, b\).*fedsinkhorn.pot has POT's \(a, b, M"):
        order(costs, np.full(40, 1 / 40), np.full(30, 1 / 30))


def test_errors_of_a_callback_are_its_own(costs):
    with pytest.raises(TypeError, match="^unsupported operand"):
        solve(costs, epsilon=0.05, callback=lambda progress: 1 + "a")


def test_a_column_of_masses_is_a_vector(costs, rng):
    a, b = rng.random(40), rng.random(30)
    a, b = a / a.sum(), b / b.sum()
    expected = solve(costs, a, b, epsilon=0.05)
    result = solve(costs, a[:, None], b[:, None], epsilon=0.05)
    np.testing.assert_array_equal(result.f[:, 0], expected.f)
    np.testing.assert_array_equal(solve(costs, a[:, None], b, epsilon=0.05).f, expected.f)
    X, Y = rng.random((40, 2)), rng.random((30, 2))
    np.testing.assert_array_equal(solve((X, Y), a[:, None], b, epsilon=0.05).f, solve((X, Y), a, b, epsilon=0.05).f)
    # Two columns of points in place of costs and masses.
    with pytest.raises(InputError, match="^a: has 2 dimensions; give 1, and points as a pair"):
        solve(rng.random((30, 1)), rng.random((30, 1)), epsilon=0.05)


@pytest.mark.parametrize("kind", [np.float32, ">f4"])
def test_float32_in_any_order_of_bytes_has_few_digits(costs, rng, kind):
    a = rng.random(40).astype(np.float32)
    solve(costs, (a / a.sum()).astype(kind), epsilon=0.05)


def test_stopping_without_convergence_warns_once(costs):
    with pytest.warns(fedsinkhorn.ConvergenceWarning, match="iteration_limit after 1 iterations") as seen:
        result = solve(costs, epsilon=0.05, max_iterations=1)
    assert len(seen) == 1 and not result.converged
    assert seen[0].filename == __file__
    with pytest.raises(fedsinkhorn.ConvergenceError) as caught:
        solve(costs, epsilon=0.05, max_iterations=1, on_failure="raise")
    assert caught.value.result.iterations == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(costs, epsilon=0.05, max_iterations=1, on_failure="ignore")
        solve(costs, epsilon=0.05)


def test_warm_start(costs):
    first = solve(costs, epsilon=0.05)
    again = solve(costs, epsilon=0.05, initial_g=first.g)
    assert again.iterations < first.iterations


def test_float32_masses_need_not_have_equal_totals(costs, rng):
    a, b = rng.random(40).astype(np.float32), rng.random(30).astype(np.float32)
    solve(costs, a / a.sum(), b / b.sum(), epsilon=0.05)


def test_clients_in_the_process(costs):
    alone = solve(costs, epsilon=0.05, topology="centralized", passes="two")
    result = solve(costs, epsilon=0.05, clients=4, topology="all-to-all")
    np.testing.assert_allclose(result.plan.dense(), alone.plan.dense(), atol=1e-12)
    assert [client["client"] for client in result.clients] == [0, 1, 2, 3]
    assert sum(client["bytes_sent"] for client in result.clients) > 0
    assert fedsinkhorn.predicted_bytes(costs, epsilon=0.05, clients=4) > 0
