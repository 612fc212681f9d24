"""POT's ot.sinkhorn. Arguments: n epsilon threads (the threads are set in the environment)."""
import json
import sys
import time
from contextlib import redirect_stdout

try:
    import ot
    from problem import Problem, serve
except ImportError as error:
    print(json.dumps({"missing": error.name}))
    sys.exit()

n, epsilon = int(sys.argv[1]), float(sys.argv[2])
problem = Problem(n)


def sinkhorn(iterations, verbose=False):
    _, log = ot.sinkhorn(problem.a, problem.b, problem.cost, epsilon, numItermax=iterations, stopThr=0, log=True,
                         warn=False, verbose=verbose)
    return log


def check(iterations):
    log = sinkhorn(int(iterations))
    return {"u": log["u"].tolist(), "v": log["v"].tolist()}


class Stamps:
    """A file that notes when lines are written to it."""

    def __init__(self):
        self.times = []

    def write(self, text):
        if text != "\n":
            self.times.append(time.perf_counter())

    def flush(self):
        pass


def seconds(iterations):
    """Seconds an iteration: of the loop alone, without building the kernel before and the plan after it, and of the
    whole call. POT reports after the first iteration and then every ten; the loop is what happens between reports, one
    check of the error in ten iterations included."""
    stamps = Stamps()
    start = time.perf_counter()
    with redirect_stdout(stamps):
        sinkhorn(int(iterations), verbose=True)
    whole = time.perf_counter() - start
    reports = stamps.times[1:]  # the first line is a heading
    return {"seconds": (reports[-1] - reports[0]) / (10 * (len(reports) - 1)), "whole": whole / int(iterations)}


serve(f"POT {ot.__version__}", {"check": check, "time": seconds})
