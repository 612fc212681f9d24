"""Losses for PyTorch, with gradients by the envelope theorem: the iterations are not differentiated, so memory and time
of the backward pass do not grow with their number.

Tensors may be float64 or float32, and values and gradients are where they are. Where the library computes on their GPU
(backend="cuda", or by default for large problems), matrices of costs and their gradients stay there; of points and
masses copies go by way of the host, which is little beside the work with them.
"""
import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ._arrays import is_text
from ._core import InputError
from ._divergence import divergence
from ._solve import solve

__all__ = ["plan_like", "sinkhorn_loss", "sinkhorn_value"]


def _tensor(name, value):
    """Other arrays will do."""
    if value is None or isinstance(value, torch.Tensor):
        return value
    try:
        return torch.as_tensor(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: a {type(value).__name__} was given; give a tensor ({error})") from None


def _float_type(tensor):
    return tensor.dtype if tensor.is_floating_point() else torch.float64


def _like(tensor, array):
    return torch.from_numpy(array).to(dtype=_float_type(tensor), device=tensor.device)


def plan_like(tensor, plan):
    """A plan of fedsinkhorn as a tensor of this one's type, where this one is."""
    if not tensor.is_cuda or plan.device != tensor.get_device():
        return _like(tensor, plan.dense())
    kind = torch.float32 if tensor.dtype == torch.float32 else torch.float64
    out = torch.empty(plan.shape, dtype=kind, device=tensor.device)
    torch.cuda.current_stream(tensor.device).synchronize()  # the memory may have been somebody else's just now
    return plan.dense(out=out).to(_float_type(tensor))


def _has_targets(b):
    return b is not None and b.dim() == 2


def _values(like, solved, value, b):
    """One for each target; a single number unless b has two dimensions."""
    values = [getattr(target.cost, value) for target in solved.per_target]
    return torch.tensor(values if _has_targets(b) else values[0], dtype=_float_type(like), device=like.device)


class _Sum:
    """Of gradients times factors."""

    def __init__(self):
        self.total = None

    def add(self, gradient, factor):
        part = gradient.mul_(factor.to(gradient.device, gradient.dtype))
        self.total = part if self.total is None else self.total.add_(part)


def _mass_gradients(factor, a, b, needs_a, needs_b, of_target):
    """of_target(k): gradients of the value of target k."""
    if not (needs_a or needs_b):
        return None, None
    of_a, columns = _Sum(), []
    for k, one in enumerate(factor.reshape(-1)):
        gradient_a, gradient_b = of_target(k)
        if needs_a:
            of_a.add(_like(a, gradient_a), one)
        if needs_b:
            columns.append(_like(b, gradient_b).mul_(one.to(b.device, _float_type(b))))
    return of_a.total, None if not needs_b else torch.stack(columns, 1) if _has_targets(b) else columns[0]


class _OfPoints(torch.autograd.Function):
    """value: "divergence" or "kl_objective"."""

    @staticmethod
    def forward(ctx, X, Y, a, b, value, settings):
        ctx.save_for_backward(X, Y, a, b)  # so that PyTorch notices if they are changed before backward
        ctx.is_divergence = value == "divergence"
        if ctx.is_divergence:
            ctx.solved = divergence(X, Y, a, b, **settings)
            return torch.tensor(ctx.solved.value, dtype=_float_type(X), device=X.device)
        ctx.solved = solve((X, Y), a, b, **settings)
        return _values(X, ctx.solved, value, b)

    @staticmethod
    @once_differentiable
    def backward(ctx, factor):
        X, Y, a, b = ctx.saved_tensors
        needs_X, needs_Y, needs_a, needs_b = ctx.needs_input_grad[:4]
        solved = ctx.solved
        of_X, of_Y = _Sum(), _Sum()
        for k, one in enumerate(factor.reshape(-1) if needs_X or needs_Y else ()):
            gradient_X, gradient_Y = solved.gradients() if ctx.is_divergence else solved.gradients(k)
            if needs_X:
                of_X.add(_like(X, gradient_X), one)
            if needs_Y:
                of_Y.add(_like(Y, gradient_Y), one)
        of_a, of_b = _mass_gradients(
            factor, a, b, needs_a, needs_b,
            lambda k: solved.mass_gradients() if ctx.is_divergence else solved.mass_gradients(k))
        return of_X.total, of_Y.total, of_a, of_b, None, None


class _OfCosts(torch.autograd.Function):
    """results: a list to add the result to."""

    @staticmethod
    def forward(ctx, C, a, b, value, settings, results):
        ctx.save_for_backward(C, a, b)
        ctx.solved = solve(C, a, b, **settings)
        results.append(ctx.solved)
        return _values(C, ctx.solved, value, b)

    @staticmethod
    @once_differentiable
    def backward(ctx, factor):
        C, a, b = ctx.saved_tensors
        needs_C, needs_a, needs_b = ctx.needs_input_grad[:3]
        of_C = _Sum()
        for k, one in enumerate(factor.reshape(-1) if needs_C else ()):
            of_C.add(plan_like(C, ctx.solved.plan.target(k)), one)
        of_a, of_b = _mass_gradients(factor, a, b, needs_a, needs_b, ctx.solved.mass_gradients)
        return of_C.total, of_a, of_b, None, None, None


def _checked(settings):
    if is_text(settings.get("policy"), "private"):
        raise InputError("policy: private runs release no costs, so there is no value; choose another policy")
    return settings


def value_and_result(C, a, b, value, settings):
    """As sinkhorn_value; also the Result."""
    results = []
    C, a, b = _tensor("C", C), _tensor("a", a), _tensor("b", b)
    return _OfCosts.apply(C, a, b, value, _checked(settings), results), results[0]


def sinkhorn_loss(X, Y, a=None, b=None, *, epsilon, debiased=True, **settings):
    """The Sinkhorn divergence of two weighted clouds of points, or without `debiased` the value
    min <P, C> + epsilon KL(P | a x b), as a tensor that can be differentiated with respect to X, Y, a and b. Without
    `debiased` b may have two dimensions: then there is one value for each target.

    Gradients of masses are those in directions that keep the total: they sum to 0 (with normalize=True they are those
    with respect to the masses as given). Settings are those of `fedsinkhorn.solve`: metric, tolerance, kernel, ...
    """
    value = "divergence" if debiased else "kl_objective"
    return _OfPoints.apply(_tensor("X", X), _tensor("Y", Y), _tensor("a", a), _tensor("b", b), value,
                           _checked(dict(settings, epsilon=epsilon)))


def sinkhorn_value(C, a=None, b=None, *, epsilon, value="kl_objective", **settings):
    """The value min <P, C> + epsilon KL(P | a x b) of a matrix of costs, as a tensor that can be differentiated with
    respect to C, a and b. With b of two dimensions, one value for each target.

    value="linear" gives <P, C> instead. Its gradients are those of the regularised value all the same: P for C.
    """
    if not is_text(value, "kl_objective", "linear"):
        raise InputError(f"value: unknown name {value!r}; choose 'kl_objective' or 'linear'")
    return value_and_result(C, a, b, value, dict(settings, epsilon=epsilon))[0]
