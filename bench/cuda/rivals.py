#!/usr/bin/env python3
"""What others take on this device: PyTorch's two products, OTT-JAX where it is installed, plain Sinkhorn to 1e-9.

Times are medians by CUDA events (PyTorch) or of blocked calls (JAX); one line a figure.
"""
import statistics
import sys
import time

import torch


def by_events(work, repeats=20, inner=5):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(inner):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / inner)
    return statistics.median(times)


def costs(n, dtype):
    generator = torch.Generator(device="cuda").manual_seed(1)
    x = torch.rand(n, 2, device="cuda", dtype=dtype, generator=generator)
    y = torch.rand(n, 2, device="cuda", dtype=dtype, generator=generator)
    c = ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
    return c / c.max()


def two_products(n, dtype, epsilon=0.05):
    kernel = torch.exp(-costs(n, dtype) / epsilon)
    a = torch.full((n,), 1.0 / n, device="cuda", dtype=dtype)
    state = {"v": torch.ones_like(a)}

    def step():
        u = a / (kernel @ state["v"])
        state["v"] = a / (kernel.T @ u)

    return by_events(step)


def many_targets(n, targets, rounds):
    kernel = torch.exp(-costs(n, torch.float64) / 0.05)
    a = torch.full((n, 1), 1.0 / n, device="cuda", dtype=torch.float64)
    b = torch.rand(n, targets, device="cuda", dtype=torch.float64) + 0.1
    b /= b.sum(0)

    def solve():
        v = torch.ones_like(b)
        for _ in range(rounds):
            u = a / (kernel @ v)
            v = b / (kernel.T @ u)

    return by_events(solve, repeats=10, inner=1)


def plain_to(n, epsilon, tolerance):
    c = costs(n, torch.float64)
    a = torch.full((n,), 1.0 / n, device="cuda", dtype=torch.float64)
    kernel = torch.exp(-c / epsilon)
    for _ in range(2):  # the first time for warmth
        v = torch.ones_like(a)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for rounds in range(1, 20001):
            u = a / (kernel @ v)
            r = kernel.T @ u
            if rounds % 10 == 0 and (v * r - a).abs().sum().item() <= tolerance:
                break
            v = a / r
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    return rounds, seconds


def ott(n):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from ott.geometry import geometry
    from ott.solvers.linear import sinkhorn

    jax.config.update("jax_enable_x64", True)
    c = jnp.asarray(np.asarray(costs(n, torch.float64).cpu()))

    def seconds(iterations, lse):
        solver = jax.jit(lambda cost: sinkhorn.solve(
            geometry.Geometry(cost, epsilon=0.05), lse_mode=lse, threshold=-1.0, inner_iterations=iterations,
            min_iterations=iterations, max_iterations=iterations).f)
        solver(c).block_until_ready()
        start = time.perf_counter()
        solver(c).block_until_ready()
        return time.perf_counter() - start

    for lse in (True, False):
        each = (seconds(110, lse) - seconds(10, lse)) / 100
        print(f"OTT-JAX, n = {n}, float64, {'log' if lse else 'kernel'} mode: {1e6 * each:.0f} us an iteration")


def main():
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    for n, dtype in ((10000, torch.float64), (10000, torch.float32), (25000, torch.float64), (25000, torch.float32)):
        print(f"two products, n = {n}, {str(dtype)[6:]}: {1e3 * two_products(n, dtype):.0f} us an iteration", flush=True)
        torch.cuda.empty_cache()
    print(f"500 targets, n = 5000, float64, 15 rounds: {many_targets(5000, 500, 15):.2f} ms", flush=True)
    rounds, seconds = plain_to(10000, 1e-3, 1e-9)
    print(f"plain Sinkhorn to 1e-9, n = 10000, epsilon = 1e-3 of the largest cost: {rounds} rounds, {seconds:.3f} s",
          flush=True)
    try:
        ott(10000)
    except ImportError as missing:
        print(f"OTT-JAX: not here ({missing})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
