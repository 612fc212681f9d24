"""Times solves from tensors on a GPU beside the same from arrays on the host, and gradients of costs and of points.

  PYTHONPATH=build/python python3 bench/python/gpu.py

Needs a GPU that the library supports, and PyTorch. Results are compared before anything is timed.
"""
import time

import numpy as np
import torch

import fedsinkhorn
from fedsinkhorn.torch import sinkhorn_loss, sinkhorn_value

ROUNDS = 5


def median_ms(*works):
    """Of each of these, in turn, so that all see the same machine."""
    seconds = [[] for _ in works]
    for round in range(ROUNDS + 1):
        for work, times in zip(works, seconds):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            if round > 0:  # the first warms up
                times.append(time.perf_counter() - start)
    return [1e3 * float(np.median(times)) for times in seconds]


def costs(n, dtype, epsilon=1e-3):
    generator = torch.Generator(device="cuda").manual_seed(n)
    X = torch.rand(n, 3, device="cuda", dtype=torch.float64, generator=generator)
    Y = torch.rand(n, 3, device="cuda", dtype=torch.float64, generator=generator)
    there = torch.cdist(X, Y).square()
    there = (there / there.max()).to(dtype)
    here = there.cpu().numpy()
    settings = dict(epsilon=epsilon, backend="cuda", on_failure="raise")
    results = [fedsinkhorn.solve(C, **settings) for C in (there, here)]
    assert np.array_equal(results[0].f, results[1].f)
    variable = there.clone().requires_grad_()
    value = sinkhorn_value(variable, **settings)

    def backward():
        variable.grad = None
        value.backward(retain_graph=True)

    backward()
    reference = torch.exp((torch.from_numpy(results[0].f.copy()).cuda()[:, None]
                           + torch.from_numpy(results[0].g.copy()).cuda() - there.double()) / epsilon)
    assert (variable.grad.double() - reference).abs().max() < 1e-6 * reference.max()
    del reference
    on_gpu, on_host, gradient = median_ms(lambda: fedsinkhorn.solve(there, **settings),
                                          lambda: fedsinkhorn.solve(here, **settings), backward)
    bytes_moved = 2 * there.element_size() * n * n  # costs are read once, the plan is written once
    print(f"costs  {n:6d} {str(dtype)[6:]:8s} {results[0].iterations:4d} iterations: solve from the GPU {on_gpu:8.1f} ms, "
          f"from the host {on_host:8.1f} ms ({on_host / on_gpu:.2f} x); gradient {gradient:7.2f} ms "
          f"({bytes_moved / gradient / 1e6:.0f} GB/s)")


def points(n, d, dtype, kernel, epsilon):
    generator = torch.Generator(device="cuda").manual_seed(n + d)
    X = torch.rand(n, d, device="cuda", dtype=dtype, generator=generator)
    Y = torch.rand(n, d, device="cuda", dtype=dtype, generator=generator)
    settings = dict(epsilon=epsilon * d, backend="cuda", kernel=kernel, on_failure="raise", tolerance=1e-6,
                    precision="float32" if dtype == torch.float32 else "float64")
    variable = X.clone().requires_grad_()
    loss = sinkhorn_loss(variable, Y, debiased=False, **settings)

    def backward():
        variable.grad = None
        loss.backward(retain_graph=True)

    here = X.cpu().numpy(), Y.cpu().numpy()
    results = [fedsinkhorn.solve(pair, **settings) for pair in ((X, Y), here)]
    assert np.array_equal(results[0].f, results[1].f)
    on_gpu, on_host, gradient = median_ms(lambda: fedsinkhorn.solve((X, Y), **settings),
                                          lambda: fedsinkhorn.solve(here, **settings), backward)
    print(f"points {n:6d} d = {d:3d} {str(dtype)[6:]:8s} {kernel:6s} {results[0].iterations:4d} iterations: solve from the GPU "
          f"{on_gpu:8.1f} ms, from the host {on_host:8.1f} ms; gradients of X and Y {gradient:8.1f} ms")


if __name__ == "__main__":
    print(torch.cuda.get_device_name(0))
    for n in (2000, 5000, 10000, 20000):
        costs(n, torch.float64)
    costs(10000, torch.float32)
    for n, d in ((10000, 3), (10000, 64), (50000, 3), (50000, 64)):
        points(n, d, torch.float32, "online", 0.01)
    points(10000, 3, torch.float64, "dense", 0.01)
