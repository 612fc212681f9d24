"""POT's sinkhorn, sinkhorn_stabilized and emd. Arguments: n or a folder, epsilon, threads (which are set in the
environment)."""
import json
import sys
import time
from contextlib import redirect_stdout

try:
    import numpy as np
    import ot
    from problem import Problem, serve
except ImportError as error:
    print(json.dumps({"missing": error.name}))
    sys.exit()

given, epsilon = sys.argv[1], float(sys.argv[2])
problem = Problem(given)


def sinkhorn(iterations, verbose=False, method="sinkhorn", epsilon=epsilon):
    # After an absorption POT starts from u = 1 / n, so that v is about n. From n = 1000 on that is above its tau, 1000:
    # once begun, it absorbs in every iteration, and in the end returns the plan divided by n^2.
    special = {"tau": 1000 * len(problem.a)} if method == "sinkhorn_stabilized" else {}
    _, log = ot.sinkhorn(problem.a, problem.b, problem.cost, epsilon, method=method, numItermax=iterations, stopThr=0,
                         log=True, warn=False, verbose=verbose, **special)
    return log


def check(iterations):
    log = sinkhorn(int(iterations))
    return {"u": log["u"].tolist(), "v": log["v"].tolist()}


def run(method, epsilon, iterations):
    """A whole call, and the potentials it leads to."""
    epsilon = float(epsilon)
    start = time.perf_counter()
    log = sinkhorn(int(iterations), method=method, epsilon=epsilon)
    seconds = time.perf_counter() - start
    if method == "sinkhorn":
        f, g = (epsilon * np.log(log[name]) for name in "uv")
    else:
        f, g = (epsilon * log[name] for name in ("logu", "logv"))
    return {"seconds": seconds, "f": f.tolist(), "g": g.tolist()}


def emd(folder):
    """The linear program of another problem, by the network simplex. Its limit on pivots, 100000, is too low for a few
    thousand points."""
    other = Problem(folder)
    start = time.perf_counter()
    _, log = ot.emd(other.a, other.b, other.cost, numItermax=100_000_000, log=True)
    return {"seconds": time.perf_counter() - start, "cost": log["cost"], "warning": log["warning"] or ""}


class Stamps:
    """A file that notes when lines are written to it."""

    def __init__(self):
        self.times = []

    def write(self, text):
        if text != "\n":
            self.times.append(time.perf_counter())

    def flush(self):
        pass


def seconds(iterations, method="sinkhorn", epsilon=epsilon):
    """Seconds an iteration: of the loop alone, without building the kernel before and the plan after it, and of the
    whole call. POT reports after the first iteration and then every ten (stabilized: twenty); the loop is what happens
    between reports, one check of the error in as many iterations included."""
    stamps = Stamps()
    start = time.perf_counter()
    with redirect_stdout(stamps):
        sinkhorn(int(iterations), verbose=True, method=method, epsilon=float(epsilon))
    whole = time.perf_counter() - start
    reports = stamps.times[1:]  # the first line is a heading
    period = 20 if method == "sinkhorn_stabilized" else 10
    return {"seconds": (reports[-1] - reports[0]) / (period * (len(reports) - 1)), "whole": whole / int(iterations)}


serve(f"POT {ot.__version__}", {"check": check, "emd": emd, "run": run, "time": seconds})
