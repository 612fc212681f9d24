"""Arrays in the memory of a GPU. Where there is none, or the library was built without CUDA, all of this is skipped."""
import pickle

import numpy as np
import pytest

import fedsinkhorn
from fedsinkhorn import _core

reason = _core.why_no_device()
if reason:
    pytest.skip(reason, allow_module_level=True)
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("this PyTorch has no GPU", allow_module_level=True)

from fedsinkhorn.torch import sinkhorn_loss, sinkhorn_value  # noqa: E402

OPTIONS = dict(epsilon=0.05, backend="cuda")
TIGHT = dict(epsilon=0.1, tolerance=1e-13, backend="cuda")


def lies_there(result):
    return isinstance(result._inputs["C"], _core.DeviceArray)


def as_jax(array):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    return jax.device_put(array, jax.devices("gpu")[0])


def as_cupy(array):
    return pytest.importorskip("cupy", reason="CuPy is not installed").asarray(array)


def as_torch(array):
    return torch.from_numpy(array).cuda()


@pytest.fixture
def matrix(rng):
    return rng.random((70, 90))


@pytest.mark.parametrize("as_theirs", [as_torch, as_cupy, as_jax])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_costs_are_read_where_they_are(matrix, as_theirs, dtype):
    costs = matrix.astype(dtype)
    there = fedsinkhorn.solve(as_theirs(costs), **OPTIONS)
    here = fedsinkhorn.solve(costs, **OPTIONS)
    assert lies_there(there) and not lies_there(here)
    np.testing.assert_array_equal(there.f, here.f)
    np.testing.assert_array_equal(there.g, here.g)
    assert there.plan.device == 0 and here.plan.device is None
    np.testing.assert_allclose(there.plan.dense(), here.plan.dense(), rtol=1e-11)


def test_costs_are_not_copied():
    n = 6000
    costs = torch.rand(n, n, dtype=torch.float64, device="cuda")
    fedsinkhorn.solve(costs[:64, :64].contiguous(), **OPTIONS)  # what the library needs at first
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    least = []
    fedsinkhorn.solve(costs, **OPTIONS, callback=lambda progress: least.append(torch.cuda.mem_get_info()[0]))
    used = before - min(least)
    assert n * n * 8 * 0.99 < used < n * n * 8 * 1.2  # the kernel, and nothing of that size besides


@pytest.mark.parametrize("change", [lambda C: C.T, lambda C: C[::2, 1:], lambda C: C.half(), lambda C: C.bfloat16(),
                                    lambda C: (100 * C).int(), lambda C: C.requires_grad_()])
def test_other_layouts_and_types_stay_there(matrix, change):
    theirs = change(as_torch(matrix))
    ours = theirs.detach().double().cpu().numpy()
    epsilon = 0.05 * ours.max()
    result = fedsinkhorn.solve(theirs, epsilon=epsilon, backend="cuda")
    assert lies_there(result)
    np.testing.assert_allclose(result.cost.linear, fedsinkhorn.solve(ours, epsilon=epsilon).cost.linear, rtol=1e-7)


def test_what_cannot_be_solved_is_refused_as_on_the_host(matrix):
    for wrong in (torch.zeros(3, device="cuda"), torch.zeros(3, 4, dtype=torch.complex64, device="cuda"),
                  torch.full((3, 4), float("nan"), device="cuda")):
        with pytest.raises(fedsinkhorn.InputError, match="^C: "):
            fedsinkhorn.solve(wrong, **OPTIONS)


def test_small_problems_and_backend_cpu_are_solved_on_the_host(matrix):
    here = fedsinkhorn.solve(matrix, epsilon=0.05)
    for settings in (dict(), dict(backend="cpu")):
        there = fedsinkhorn.solve(as_torch(matrix), epsilon=0.05, **settings)
        np.testing.assert_array_equal(there.f, here.f)
        assert there.plan.device is None or settings == {}
        np.testing.assert_allclose(there.plan.dense(), here.plan.dense(), rtol=1e-11)


def test_forbidden_pairs_and_masses_there(matrix, rng):
    matrix[3, 5] = np.inf
    a = rng.random(70)
    a[4] = 0
    a /= a.sum()
    b = rng.random((90, 2))
    b /= b.sum(0)
    there = fedsinkhorn.solve(as_torch(matrix), as_torch(a), as_torch(b), **OPTIONS)
    here = fedsinkhorn.solve(matrix, a, b, **OPTIONS)
    np.testing.assert_array_equal(there.g, here.g)
    for k in range(2):
        np.testing.assert_allclose(there.plan.target(k).dense(), here.plan.target(k).dense(), rtol=1e-11, atol=1e-300)


def test_work_in_progress_on_other_streams_is_waited_for():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        noise = torch.rand(2500, 2500, dtype=torch.float64, device="cuda")
        costs = noise
        for _ in range(50):  # takes longer than the call that follows needs to begin
            costs = costs @ noise
            costs = (costs / costs.max() + noise) / 2
        result = fedsinkhorn.solve(costs, **OPTIONS)
    expected = fedsinkhorn.solve(costs.cpu().numpy(), **OPTIONS)
    np.testing.assert_array_equal(result.f, expected.f)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_plans_are_written_there(matrix, dtype):
    result = fedsinkhorn.solve(as_torch(matrix), **OPTIONS)
    out = torch.full((70, 90), -1.0, dtype=dtype, device="cuda")
    assert result.plan.dense(out=out) is out
    np.testing.assert_allclose(out.cpu().numpy(), result.plan.dense(), rtol=1e-6 if dtype == torch.float32 else 1e-14,
                               atol=1e-37)
    for wrong in (torch.empty(90, 70, device="cuda"), torch.empty(90, 70, device="cuda").T, torch.empty(70, 90),
                  torch.empty(70, 90, dtype=torch.int32, device="cuda"), [[1.0]]):
        with pytest.raises(fedsinkhorn.InputError, match="out"):
            result.plan.dense(out=wrong)


def test_products_are_those_of_the_dense_plan(matrix, rng):
    plan = fedsinkhorn.solve(as_torch(matrix), **OPTIONS).plan
    dense, values, others = plan.dense(), rng.random((90, 20)), rng.random((70, 3))
    np.testing.assert_allclose(plan.apply(as_torch(values)), dense @ values, rtol=1e-12)
    np.testing.assert_allclose(plan.apply_transposed(others), dense.T @ others, rtol=1e-12)
    np.testing.assert_allclose(plan[5], dense[5])


def test_results_can_be_pickled(matrix):
    result = fedsinkhorn.solve(as_torch(matrix), **OPTIONS)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.plan.dense(), result.plan.dense(), rtol=1e-11)


def test_gradients_of_costs():
    generator = torch.Generator().manual_seed(1)
    C = torch.rand(6, 5, dtype=torch.float64, generator=generator).cuda().requires_grad_()
    a = torch.rand(6, dtype=torch.float64, generator=generator).cuda().requires_grad_()
    b = torch.rand(5, 2, dtype=torch.float64, generator=generator).cuda().requires_grad_()

    def values(C, a, b):
        return sinkhorn_value(C, a.softmax(0), b.softmax(0), **TIGHT)

    assert torch.autograd.gradcheck(values, (C, a, b), atol=1e-7, rtol=1e-6)
    value = sinkhorn_value(C, **TIGHT)
    value.backward()
    assert value.is_cuda and C.grad.is_cuda
    in_float32 = C.detach().float().requires_grad_()
    sinkhorn_value(in_float32, **TIGHT).backward()
    assert in_float32.grad.dtype == torch.float32 and in_float32.grad.is_cuda
    torch.testing.assert_close(in_float32.grad.double(), C.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine"])
def test_gradients_of_points(debiased, metric):
    generator = torch.Generator().manual_seed(2)
    X = torch.rand(40, 3, dtype=torch.float64, generator=generator) + 0.5
    Y = torch.rand(50, 3, dtype=torch.float64, generator=generator) + 0.7
    gradients = {}
    for place, backend in (("cpu", "cpu"), ("cuda", "cuda")):
        x, y = X.to(place, copy=True).requires_grad_(), Y.to(place, copy=True).requires_grad_()
        loss = sinkhorn_loss(x, y, epsilon=0.05, metric=metric, debiased=debiased, tolerance=1e-12, backend=backend)
        loss.backward()
        assert loss.device == x.grad.device == x.device
        gradients[place] = (x.grad.cpu(), y.grad.cpu())
    for there, here in zip(gradients["cuda"], gradients["cpu"]):
        assert (there - here).abs().max() < 1e-9 * here.abs().max()


def test_calls_of_pot_return_what_they_were_given(matrix):
    C = as_torch(matrix)
    a, b = as_torch(np.full(70, 1 / 70)), as_torch(np.full(90, 1 / 90))
    plan, log = fedsinkhorn.pot.sinkhorn(a, b, C, 0.05, log=True)
    assert plan.is_cuda and log["u"].is_cuda
    np.testing.assert_allclose(plan.sum(1).cpu(), a.cpu(), rtol=1e-6)
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    plan = fedsinkhorn.pot.sinkhorn(None, None, cupy.asarray(matrix), 0.05)
    assert isinstance(plan, cupy.ndarray)


def test_several_clients(matrix):
    here = fedsinkhorn.solve(matrix, **OPTIONS)
    for topology in ("row-reduce", "star"):
        there = fedsinkhorn.solve(as_torch(matrix), clients=3, topology=topology, **OPTIONS)
        np.testing.assert_allclose(there.cost.linear, here.cost.linear, rtol=1e-9)
