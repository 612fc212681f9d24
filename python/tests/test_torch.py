"""Losses for PyTorch."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import fedsinkhorn  # noqa: E402
from fedsinkhorn.torch import plan_like, sinkhorn_loss, sinkhorn_value  # noqa: E402

TIGHT = dict(epsilon=0.1, tolerance=1e-13)


def points(count, seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 2, generator=generator, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("debiased", [True, False])
@pytest.mark.parametrize("kernel", ["dense", "online"])
def test_gradcheck_of_points_and_masses(debiased, kernel):
    weights = [torch.rand(n, dtype=torch.float64, requires_grad=True) for n in (5, 4)]

    def loss(X, Y, first, second):
        return sinkhorn_loss(X, Y, first.softmax(0), second.softmax(0), debiased=debiased, kernel=kernel, **TIGHT)

    assert torch.autograd.gradcheck(loss, (points(5, 1), points(4, 2), *weights), atol=1e-7, rtol=1e-6)


def test_gradcheck_of_costs_with_several_targets():
    C = torch.rand(5, 4, dtype=torch.float64, requires_grad=True)
    a = torch.rand(5, dtype=torch.float64, requires_grad=True)
    b = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)

    def values(C, a, b):
        return sinkhorn_value(C, a.softmax(0), b.softmax(0), **TIGHT)

    assert torch.autograd.gradcheck(values, (C, a, b), atol=1e-7, rtol=1e-6)
    assert torch.autograd.gradcheck(lambda C: sinkhorn_value(C, **TIGHT), (C,), atol=1e-7, rtol=1e-6)


def test_float32_stays_float32():
    X, Y = points(20, 1, torch.float32), points(15, 2, torch.float32)
    loss = sinkhorn_loss(X, Y, epsilon=0.1)
    (3 * loss).backward()
    assert loss.dtype == X.grad.dtype == torch.float32 and loss.dim() == 0
    exact = points(20, 1, torch.float32).detach().double().requires_grad_()
    (3 * sinkhorn_loss(exact, Y.detach().double(), epsilon=0.1)).backward()
    assert torch.allclose(X.grad.double(), exact.grad, atol=1e-6)


def test_a_cloud_flows_onto_another():
    X, Y = points(30, 1), points(30, 2).detach() + 2
    optimizer = torch.optim.SGD([X], lr=10.0)
    first = None
    for _ in range(20):
        optimizer.zero_grad()
        loss = sinkhorn_loss(X, Y, epsilon=0.05)
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert loss.item() < 1e-3 * first


def test_tensors_are_read_in_place():
    C = torch.rand(6, 5, dtype=torch.float64)
    result = fedsinkhorn.solve(C, epsilon=0.1)
    assert result._inputs["C"].ctypes.data == C.data_ptr()
    transposed = fedsinkhorn.solve(C.T, epsilon=0.1)
    np.testing.assert_allclose(transposed.cost.linear, result.cost.linear, rtol=1e-8)
    fedsinkhorn.solve(torch.rand(6, 5, requires_grad=True), epsilon=0.1)


def test_capsules_that_are_not_of_a_gpu_are_refused():
    capsule = torch.rand(3, 4).__dlpack__()
    with pytest.raises(fedsinkhorn.InputError, match="^C: does not lie on a CUDA device"):
        fedsinkhorn._core.DeviceArray(capsule, "C")
    with pytest.raises(ValueError):  # it has been taken
        fedsinkhorn._core.DeviceArray(capsule, "C")
    with pytest.raises(fedsinkhorn.InputError, match="^out: "):
        fedsinkhorn.solve(torch.rand(3, 4), epsilon=0.1).plan.dense(out=torch.empty(3, 4))


@pytest.mark.parametrize("changed", range(4))
def test_tensors_that_change_before_backward_are_noticed(changed):
    X, Y = points(5, 1), points(4, 2)
    a, b = (torch.full((n,), 1 / n, dtype=torch.float64) for n in (5, 4))
    costs = torch.cdist(X, Y).detach().square().requires_grad_()
    loss = sinkhorn_loss(X, Y, a, b, epsilon=0.1)
    value = sinkhorn_value(costs, a, b, epsilon=0.1)
    with torch.no_grad():
        (X, Y, a, costs)[changed].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (value if changed == 3 else loss).backward()


def test_second_derivatives_are_refused():
    X = points(5, 1)
    (gradient,) = torch.autograd.grad(sinkhorn_loss(X, points(4, 2).detach(), epsilon=0.1), X, create_graph=True)
    with pytest.raises(RuntimeError):
        gradient.sum().backward()


@pytest.mark.parametrize("debiased", [True, False])
def test_gradcheck_of_masses_that_are_normalised(debiased):
    """Their totals are free, so no softmax is needed."""
    masses = [3 * torch.rand(n, dtype=torch.float64, requires_grad=True) for n in (5, 4)]

    def loss(X, Y, a, b):
        return sinkhorn_loss(X, Y, a, b, debiased=debiased, normalize=True, **TIGHT)

    assert torch.autograd.gradcheck(loss, (points(5, 1), points(4, 2), *masses), atol=1e-7, rtol=1e-6)


def test_gradcheck_of_several_targets():
    a = torch.rand(5, dtype=torch.float64, requires_grad=True)
    b = torch.rand(4, 3, dtype=torch.float64, requires_grad=True)
    C = torch.rand(5, 4, dtype=torch.float64)

    def losses(X, Y, a, b):
        return sinkhorn_loss(X, Y, a, b, debiased=False, normalize=True, **TIGHT)

    assert losses(points(5, 1), points(4, 2), a, b).shape == (3,)
    assert torch.autograd.gradcheck(losses, (points(5, 1), points(4, 2), a, b), atol=1e-7, rtol=1e-6)
    assert torch.autograd.gradcheck(lambda a, b: sinkhorn_value(C, a, b, normalize=True, **TIGHT), (a, b), atol=1e-7,
                                    rtol=1e-6)


def test_integers_give_float64():
    C = torch.arange(20).reshape(5, 4) % 7
    value = sinkhorn_value(C, epsilon=1.0)
    assert value.dtype == torch.float64 and value == sinkhorn_value(C.double(), epsilon=1.0)
    Y = points(4, 2)
    sinkhorn_loss(C[:, :2], Y, epsilon=1.0).backward()
    assert Y.grad.abs().sum() > 0
    assert plan_like(C, fedsinkhorn.solve(C, epsilon=1.0).plan).dtype == torch.float64


def test_other_arrays_will_do():
    C = np.random.default_rng(1).random((5, 4))
    assert sinkhorn_value(C, epsilon=0.1) == sinkhorn_value(torch.tensor(C), None, [0.25] * 4, epsilon=0.1)


def test_what_losses_refuse():
    C = torch.rand(5, 4)
    for wrong, call in (("value", lambda: sinkhorn_value(C, epsilon=0.1, value="foo")),
                        ("policy", lambda: sinkhorn_value(C, epsilon=0.1, policy="private", noise=1)),
                        ("policy", lambda: sinkhorn_loss(C, C, epsilon=0.1, policy="private", noise=1)),
                        ("b", lambda: sinkhorn_loss(C, C, None, torch.rand(5, 2), epsilon=0.1)),
                        ("C", lambda: sinkhorn_value("costs", epsilon=0.1)),
                        ("C", lambda: fedsinkhorn.solve(torch.zeros(3, 4, device="meta"), epsilon=0.1))):
        with pytest.raises(fedsinkhorn.InputError, match=f"^{wrong}: "):
            call()


def test_warnings_name_the_callers_line():
    C = torch.rand(30, 20, dtype=torch.float64, requires_grad=True)
    X, Y = C[:, :2], C[:25, 2:4]
    few = dict(epsilon=0.001, max_iterations=1)
    for call in (lambda: fedsinkhorn.solve(C, **few), lambda: sinkhorn_value(C, **few),
                 lambda: sinkhorn_loss(X, Y, **few), lambda: fedsinkhorn.divergence(X, Y, **few),
                 lambda: fedsinkhorn.SinkhornTransport(0.001, options={"max_iterations": 1}).fit(X, Y),
                 lambda: fedsinkhorn.pot.sinkhorn2([], [], C, 0.001, numItermax=1),
                 lambda: fedsinkhorn.pot.solve(C.detach(), reg=0.001, max_iter=1)):
        with pytest.warns(fedsinkhorn.ConvergenceWarning) as seen:
            call()
        assert [warning.filename for warning in seen] == [__file__]
