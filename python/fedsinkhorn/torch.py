"""Losses for PyTorch, with gradients by the envelope theorem: the iterations are not differentiated, so memory and time
of the backward pass do not grow with their number.

Tensors may be float64 or float32, and values and gradients are where they are. Where the library computes on their GPU
(backend="cuda", or by default for large problems), matrices of costs and their gradients stay there; of points and
masses copies go by way of the host, which is little beside the work with them.
"""
import torch
from torch.autograd.function import once_differentiable

from ._divergence import divergence
from ._solve import solve

__all__ = ["plan_like", "sinkhorn_loss", "sinkhorn_value"]


def _like(tensor, array):
    return torch.from_numpy(array).to(dtype=tensor.dtype, device=tensor.device)


def _scaled(needed, tensor, array, factor):
    return factor.to(device=tensor.device, dtype=tensor.dtype) * _like(tensor, array) if needed else None


def plan_like(tensor, plan):
    """A plan of fedsinkhorn as a tensor of this one's type, where this one is."""
    if not tensor.is_cuda or plan.device != tensor.get_device():
        return _like(tensor, plan.dense())
    kind = torch.float32 if tensor.dtype == torch.float32 else torch.float64
    out = torch.empty(plan.shape, dtype=kind, device=tensor.device)
    torch.cuda.current_stream(tensor.device).synchronize()  # the memory may have been somebody else's just now
    return plan.dense(out=out).to(tensor.dtype)


class _OfPoints(torch.autograd.Function):
    """value: "divergence" or "kl_objective"."""

    @staticmethod
    def forward(ctx, X, Y, a, b, value, settings):
        ctx.save_for_backward(X, Y, a, b)  # so that PyTorch notices if they are changed before backward
        if value == "divergence":
            ctx.solved = divergence(X, Y, a, b, **settings)
            number = ctx.solved.value
        else:
            ctx.solved = solve((X, Y), a, b, **settings)
            number = getattr(ctx.solved.cost, value)
        return X.new_tensor(number)

    @staticmethod
    @once_differentiable
    def backward(ctx, factor):
        X, Y, a, b = ctx.saved_tensors
        needs_X, needs_Y, needs_a, needs_b = ctx.needs_input_grad[:4]
        points = ctx.solved.gradients() if needs_X or needs_Y else (None, None)
        masses = ctx.solved.mass_gradients() if needs_a or needs_b else (None, None)
        return (_scaled(needs_X, X, points[0], factor), _scaled(needs_Y, Y, points[1], factor),
                _scaled(needs_a, a, masses[0], factor), _scaled(needs_b, b, masses[1], factor), None, None)


class _OfCosts(torch.autograd.Function):
    """One value for each target; all together if b has two dimensions."""

    @staticmethod
    def forward(ctx, C, a, b, value, settings):
        ctx.save_for_backward(C, a, b)
        ctx.solved = solve(C, a, b, **settings)
        values = [getattr(target.cost, value) for target in ctx.solved.per_target]
        ctx.has_targets = b is not None and b.dim() == 2
        return C.new_tensor(values if ctx.has_targets else values[0])

    @staticmethod
    @once_differentiable
    def backward(ctx, factor):
        C, a, b = ctx.saved_tensors
        needs_C, needs_a, needs_b = ctx.needs_input_grad[:3]
        factors = factor.reshape(-1)
        gradient_C = gradient_a = None
        columns = []
        for k in range(len(factors)):
            if needs_C:
                part = plan_like(C, ctx.solved.plan.target(k)).mul_(factors[k].to(C.device, C.dtype))
                gradient_C = part if gradient_C is None else gradient_C.add_(part)
            if needs_a or needs_b:
                of_a, of_b = ctx.solved.mass_gradients(k)
                if needs_a:
                    part = _scaled(True, a, of_a, factors[k])
                    gradient_a = part if gradient_a is None else gradient_a + part
                if needs_b:
                    columns.append(_scaled(True, b, of_b, factors[k]))
        gradient_b = None if not needs_b else torch.stack(columns, 1) if ctx.has_targets else columns[0]
        return gradient_C, gradient_a, gradient_b, None, None


def sinkhorn_loss(X, Y, a=None, b=None, *, epsilon, debiased=True, **settings):
    """The Sinkhorn divergence of two weighted clouds of points, or without `debiased` the value
    min <P, C> + epsilon KL(P | a x b), as a tensor that can be differentiated with respect to X, Y, a and b.

    Gradients of masses are those in directions that keep the total: they sum to 0. Settings are those of
    `fedsinkhorn.solve`: metric, tolerance, kernel, ...
    """
    value = "divergence" if debiased else "kl_objective"
    return _OfPoints.apply(X, Y, a, b, value, dict(settings, epsilon=epsilon))


def sinkhorn_value(C, a=None, b=None, *, epsilon, value="kl_objective", **settings):
    """The value min <P, C> + epsilon KL(P | a x b) of a matrix of costs, as a tensor that can be differentiated with
    respect to C, a and b. With b of two dimensions, one value for each target.

    value="linear" gives <P, C> instead. Its gradients are those of the regularised value all the same: P for C.
    """
    return _OfCosts.apply(C, a, b, value, dict(settings, epsilon=epsilon))
