"""Random calls: whatever is given, only documented exceptions come out, and the process lives on."""
import warnings

import numpy as np
import pytest
from conftest import scaled

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import fedsinkhorn  # noqa: E402
from fedsinkhorn import pot, privacy  # noqa: E402

# solve() documents these.
DOCUMENTED = (fedsinkhorn.InputError, TypeError, fedsinkhorn.ConvergenceError, MemoryError)
CALLS = scaled("FEDSINKHORN_FUZZ_CALLS", 600)

NUMBERS = st.one_of(
    st.floats(), st.integers(-10, 10), st.sampled_from([0, 1, -1, 1e-300, 1e300, 0.05, 0.1, 1e-9, 10**40, True, None]),
    st.sampled_from([np.float32(0.1), np.int8(3), np.bool_(True), np.array(0.1), np.array([0.1]), 1j]))
ODD = st.one_of(st.none(), st.text(max_size=5), st.binary(max_size=5), NUMBERS, st.lists(NUMBERS, max_size=4),
                st.just(object()), st.just(lambda *_: None), st.dictionaries(st.text(max_size=2), NUMBERS, max_size=2),
                st.sampled_from([np.zeros(3), np.zeros((2, 2)), np.array("cpu"), np.array([1, None], dtype=object)]))


@st.composite
def arrays(draw, dimensions=2):
    """Of any type, layout and shape up to 6 x 6; mostly usable, sometimes with bad numbers."""
    shape = draw(st.lists(st.integers(0, 6), min_size=dimensions, max_size=dimensions))
    if draw(st.integers(0, 19)) == 0:
        shape = draw(st.lists(st.integers(0, 4), max_size=4))
    seed = draw(st.integers(0, 10**6))
    array = np.random.default_rng(seed).random(shape)
    bad = draw(st.sampled_from([None] * 8 + [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e-308]))
    if bad is not None and array.size:
        array.flat[draw(st.integers(0, array.size - 1))] = bad
    kind = draw(st.sampled_from(["f8"] * 6 + ["f4", "f2", "i4", "u1", "?", ">f8", "c16", "O", "U3", "g"]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        array = array.astype(kind)
    layout = draw(st.sampled_from(["C"] * 5 + ["F", "strided", "reversed", "read-only", "list", "unaligned"]))
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "strided" and array.ndim == 2:
        return np.repeat(array, 2, 1)[:, ::2]
    if layout == "reversed":
        return array[::-1] if array.ndim else array
    if layout == "read-only":
        array.flags.writeable = False
    if layout == "unaligned" and array.dtype == np.float64:
        return np.frombuffer(b"x" + array.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(array.shape)
    return array.tolist() if layout == "list" else array


def masses(size):
    usual = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).dirichlet(np.ones(max(1, size))))
    return st.one_of(st.none(), usual, usual, arrays(1), arrays(2), ODD)


# A run that waits for a time limit takes too long to be run often.
OPTIONS = {option["name"]: option for option in fedsinkhorn._core.options()
           if option["name"] not in ("epsilon", "timeout", "threads")}


@st.composite
def some_option(draw):
    """Often one that has the right type."""
    option = OPTIONS[draw(st.sampled_from(sorted(OPTIONS)))]
    by_type = {"bool": st.booleans(), "int": st.integers(0, 4), "float": st.floats(0, 1)}
    usual = by_type.get(option["type"], st.integers(1, 3))
    sensible = st.sampled_from(option["choices"]) if option["choices"] else usual
    return option["name"], draw(st.one_of(sensible, sensible, sensible, ODD))


@st.composite
def calls(draw):
    """A call that can be solved, of which up to three arguments are then replaced."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    costs = (random.random((n, 2)), random.random((m, 2))) if draw(st.booleans()) else random.random((n, m))
    # Of a budget of any size, a few iterations are enough here.
    keywords = dict(epsilon=draw(st.floats(1e-3, 10)), on_failure="ignore", max_iterations=draw(st.integers(1, 40)),
                    threads=1, clients=draw(st.sampled_from([1, 1, 1, 2, 3])))
    others = {"epsilon": NUMBERS, "a": masses(n), "b": masses(m), "initial_g": masses(m), "mass_tolerance": NUMBERS,
              "metric": st.one_of(st.sampled_from(["euclidean", "cosine", "taxi"]), ODD), "parts": ODD,
              "on_failure": st.one_of(st.sampled_from(["raise", "cry"]), ODD), "clients": NUMBERS,
              "max_iterations": st.sampled_from([0, -1, "a", 1.5]),
              "callback": st.sampled_from([lambda p: None, lambda p: True, 3])}
    for _ in range(draw(st.integers(0, 3))):
        what = draw(st.sampled_from(["costs", "option", "option", "option", "other", "other"]))
        if what == "costs":
            costs = draw(st.one_of(arrays(), arrays(), st.tuples(arrays(), arrays()), ODD))
        elif what == "option":
            name, value = draw(some_option())
            keywords[name] = value
        else:
            name = draw(st.sampled_from(sorted(others)))
            keywords[name] = draw(others[name])
    if isinstance(keywords["clients"], (int, float)) and keywords["clients"] > 4:
        keywords["clients"] = 4  # 4096 of them take their time
    return costs, keywords


@settings(max_examples=CALLS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(calls())
def test_solve(call):
    costs, keywords = call
    try:
        result = fedsinkhorn.solve(costs, **keywords)
    except DOCUMENTED:
        return
    hypothesis.event("solved")
    plan = result.plan
    dense = plan.dense()
    assert dense.shape == plan.shape == (len(result.f), len(result.g))
    repr(result), result._repr_html_(), result.summary
    if result.converged:
        assert np.isfinite(dense).all()
        np.testing.assert_allclose(plan.apply(np.ones(plan.shape[1])), dense.sum(1), rtol=1e-9, atol=1e-300)
    assert result.status in ("converged", "iteration_limit", "diverged", "interrupted", "budget_spent")


@settings(max_examples=max(50, CALLS // 10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(arrays(), arrays(), masses(3), masses(3), st.one_of(st.floats(1e-3, 10), NUMBERS))
def test_divergence_and_gradients(X, Y, a, b, epsilon):
    try:
        result = fedsinkhorn.divergence(X, Y, a, b, epsilon=epsilon, max_iterations=40, on_failure="ignore")
        result.gradients(), result.mass_gradients()
    except DOCUMENTED:
        pass


ARRAY_LIKE = st.one_of(st.none(), arrays(1), arrays(2), ODD, st.tuples(arrays(1), arrays(1)))


@settings(max_examples=max(50, CALLS // 10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(masses(3), masses(3), arrays(), st.one_of(NUMBERS, arrays(1), ODD), ODD, ARRAY_LIKE, ODD)
def test_pot(a, b, M, reg, method, warmstart, other):
    method = method if isinstance(method, str) and method else "sinkhorn"
    calls = (
        lambda: pot.sinkhorn(a, b, M, reg, method, numItermax=30, log=True, warmstart=warmstart),
        lambda: pot.sinkhorn2(a, b, M, reg, numItermax=30, log=True),
        lambda: pot.sinkhorn2(a, b, M, reg, numItermax=other, stopThr=reg),
        lambda: pot.empirical_sinkhorn_divergence(M, M, reg, a, b, numIterMax=30),
        lambda: pot.empirical_sinkhorn_divergence(M, warmstart, 0.1, metric=other, numIterMax=30, log=True),
        lambda: pot.solve(M, a, b, reg, max_iter=30, potentials_init=warmstart).plan,
        lambda: pot.solve(M, reg=0.1, reg_type=other, tol=reg, max_iter=30).marginals,
        lambda: pot.solve_sample(M, M, a, b, reg=reg, max_iter=30, lazy=other).value,
        lambda: pot.solve_sample(M, warmstart, reg=0.1, max_iter=30).plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            try:
                call()
            except DOCUMENTED:
                pass


@settings(max_examples=max(50, CALLS // 10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(ODD, ODD, ODD, ODD)
def test_other_functions(w, x, y, z):
    for call in (lambda: privacy.account(w, x, y, delta=z), lambda: privacy.calibrate(w, x, y, z),
                 lambda: fedsinkhorn.predict(w, x, y, clients=z), lambda: fedsinkhorn.risk(w, x, radius=y, epsilon=z),
                 lambda: fedsinkhorn.plan_topology("office", w, clients=x, memory_per_client=y)):
        try:
            call()
        except DOCUMENTED:
            pass


@settings(max_examples=max(50, CALLS // 10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(ODD, ODD, arrays())
def test_plans(index, other, values):
    plan = fedsinkhorn.solve(np.arange(12.0).reshape(4, 3), epsilon=1).plan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy on truth values as indices
        _use(plan, index, other, values)


def _use(plan, index, other, values):
    for call in (lambda: plan[index], lambda: plan[index, other], lambda: plan.rows(index, other),
                 lambda: plan.apply(values), lambda: plan.apply_transposed(values), lambda: plan.barycentric(values)):
        try:
            call()
        except (*DOCUMENTED, IndexError):
            pass
