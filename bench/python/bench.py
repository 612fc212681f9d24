#!/usr/bin/env python3
"""Times calls of the Python package: beside the same call from C++, beside POT, and its peak memory.

  bench.py path/to/fedsinkhorn-calls [--sections overhead,memory,pot] [--sizes 500,2000,10000] [--seconds 60]

Results are checked before they are timed. Contenders take turns; figures are medians, ratios are medians of ratios of
neighbouring runs. Costs are squared distances of uniform points in the unit square, scaled to a largest of 1, with
random masses; epsilon is a share of the largest cost. A run of POT that would take longer than --seconds is stopped there, and
its ratio is a lower bound.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import fedsinkhorn


def problem(n, seed=1):
    rng = np.random.default_rng(seed)
    X, Y = rng.random((n, 2)), rng.random((n, 2))
    C = X @ Y.T
    C *= -2
    C += (X**2).sum(1)[:, None]
    C += (Y**2).sum(1)[None]
    np.maximum(C, 0, out=C)
    C /= C.max()
    a, b = rng.random(n) + 0.1, rng.random(n) + 0.1
    return C, a / a.sum(), b / b.sum()


class CallsFromCpp:
    """The other program, which makes one call for each line."""

    def __init__(self, program, C, a, b, epsilon):
        self._folder = tempfile.TemporaryDirectory()
        for name, array in (("C", C), ("a", a), ("b", b)):
            np.save(f"{self._folder.name}/{name}.npy", array)
        files = [f"{self._folder.name}/{name}.npy" for name in "Cab"]
        self._process = subprocess.Popen([program, *files, repr(epsilon)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)

    def call(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        seconds, iterations, converged = self._process.stdout.readline().split()
        assert converged == "1"
        return float(seconds), int(iterations)

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


def overhead(program):
    print("call from Python beside the same call from C++, epsilon 0.01, to 1e-9")
    for n, rounds in ((200, 400), (2000, 20), (10000, 7)):
        C, a, b = problem(n)
        cpp = CallsFromCpp(program, C, a, b, 0.01)
        ours, theirs = [], []
        for turn in range(rounds + 2):
            seconds, iterations = cpp.call()
            started = time.perf_counter()
            result = fedsinkhorn.solve(C, a, b, epsilon=0.01)
            taken = time.perf_counter() - started
            assert result.converged and result.iterations == iterations
            if turn >= 2:  # the first ones start threads
                ours.append(taken)
                theirs.append(seconds)
        cpp.close()
        ratio = statistics.median(own / other for own, other in zip(ours, theirs))
        own, other = 1e3 * statistics.median(ours), 1e3 * statistics.median(theirs)
        print(f"  n = {n:6d}: Python {own:9.3f} ms, C++ {other:9.3f} ms, {ratio:.3f} x ({rounds} turns)", flush=True)


PEAK = """
import re, sys
import numpy as np
sys.path.insert(0, sys.argv[2])
import bench, fedsinkhorn

def peak_memory():  # not ru_maxrss, which remembers the process that this one was forked from
    return 1024 * int(re.search("VmHWM: *([0-9]+) kB", open("/proc/self/status").read().replace("\\t", ""))[1])

small = bench.problem(100)
fedsinkhorn.solve(*small, epsilon=0.01)
before = peak_memory()
C, a, b = np.load(sys.argv[1] + "/C.npy"), np.load(sys.argv[1] + "/a.npy"), np.load(sys.argv[1] + "/b.npy")
loaded = peak_memory()
result = fedsinkhorn.solve(C, a, b, epsilon=0.01)
peak = peak_memory()
print(before, loaded, peak, C.nbytes)
"""


def memory():
    n = 10000
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip("Cab", problem(n)):
            np.save(f"{folder}/{name}.npy", array)
        run = subprocess.run([sys.executable, "-c", PEAK, folder, os.path.dirname(os.path.abspath(__file__))],
                             capture_output=True, text=True, check=True)
    before, loaded, peak, size = map(int, run.stdout.split())
    print(f"peak memory, n = {n}: {(peak - before) / 1e6:.0f} MB above {before / 1e6:.0f} MB of the interpreter with a "
          f"small solve done; C is {size / 1e6:.0f} MB, so {(peak - before) / size:.3f} x C "
          f"(C and a kernel of its size: 2)", flush=True)


def timed(call):
    started = time.perf_counter()
    answer = call()
    return time.perf_counter() - started, answer


def pot_run(ot, C, a, b, epsilon, limit):
    """(seconds, error of both sides, method). Below epsilon 0.01 POT's plain loop underflows."""
    method = "sinkhorn" if epsilon >= 0.01 else "sinkhorn_stabilized"

    def run(iterations):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ot.sinkhorn(a, b, C, epsilon, method=method, numItermax=iterations, stopThr=1e-9)

    short, _ = timed(lambda: run(31))
    iterations = int(max(31, min(100000, limit / short * 31)))
    seconds, plan = timed(lambda: run(iterations))
    error = np.abs(plan.sum(0) - b).sum() + np.abs(plan.sum(1) - a).sum()
    return seconds, error, method


def against_pot(sizes, limit):
    import ot

    print("from arrays in memory to 1e-9 (ours: L1 norm of both marginal errors; POT: L2 norm of one), plan included")
    print(f"{'n':>6} {'epsilon':>8} {'ours':>10} {'iterations':>10} {'error':>8} {'POT':>10} {'error':>8} {'ratio':>8}"
          "  method of POT")
    for n in sizes:
        C, a, b = problem(n)
        for epsilon in (0.05, 0.01, 0.001):
            turns = 11 if n < 1000 else 3 if n < 10000 else 1
            ours, theirs = [], []
            for _ in range(turns):
                def call():
                    result = fedsinkhorn.solve(C, a, b, epsilon=epsilon)
                    return result, result.plan.dense()

                seconds, (result, plan) = timed(call)
                own_error = np.abs(plan.sum(0) - b).sum() + np.abs(plan.sum(1) - a).sum()
                del plan
                ours.append(seconds)
                theirs.append(pot_run(ot, C, a, b, epsilon, limit))
            ratio = statistics.median(other[0] / own for own, other in zip(ours, theirs))
            seconds, error, method = sorted(theirs)[len(theirs) // 2]
            # 1e-9 in the L2 norm of n errors may be sqrt(n) times that in the L1 norm.
            reached = error < 2e-9 * np.sqrt(n)
            print(f"{n:6d} {epsilon:8g} {statistics.median(ours):8.3f} s {result.iterations:10d} {own_error:8.1e} "
                  f"{seconds:8.2f} s {error:8.1e} {'' if reached else '>':>2}{ratio:6.1f} x  {method}"
                  f"{'' if reached else ', stopped before it converged'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--sections", default="overhead,memory,pot")
    parser.add_argument("--sizes", default="500,2000,10000")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    sections = arguments.sections.split(",")
    if "overhead" in sections:
        overhead(arguments.program)
    if "memory" in sections:
        memory()
    if "pot" in sections:
        against_pot([int(size) for size in arguments.sizes.split(",")], arguments.seconds)


if __name__ == "__main__":
    main()
