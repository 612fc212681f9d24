"""The problem both sides solve and the talk with the parent."""
import json
import sys
from pathlib import Path

import numpy as np


def by_formula(n):
    """Points in the unit square and masses; see formula_points in ../instance.cpp."""
    i = np.arange(1, n + 1, dtype=np.float64)

    def spread(number):
        x = i * np.sqrt(number)
        return x - np.floor(x)

    a, b = 0.5 + spread(11.0), 0.5 + spread(13.0)
    return [spread(2.0), spread(3.0)], [spread(5.0), spread(7.0)], a / a.sum(), b / b.sum()


def from_folder(folder):
    x, y, a, b = (np.load(folder / f"{name}.npy") for name in "XYab")
    return x.T, y.T, a, b


class Problem:
    """C_ij = |x_i - y_j|^2, masses a and b. given: a number of points, or a folder with X, Y, a and b, or with C, a and
    b."""

    def __init__(self, given):
        if (Path(given) / "C.npy").exists():
            self.cost, self.a, self.b = (np.load(Path(given) / f"{name}.npy") for name in "Cab")
            return
        x, y, self.a, self.b = by_formula(int(given)) if given.isdigit() else from_folder(Path(given))
        self.cost = np.zeros((len(self.a), len(self.b)))
        for xk, yk in zip(x, y):
            self.cost += np.square(xk[:, None] - yk[None, :])


def say(answer):
    print(json.dumps(answer), file=sys.__stdout__, flush=True)


def serve(version, verbs):
    """One line in, one line out, until the parent closes the connection. A line is a verb and its arguments."""
    say({"version": version})
    for line in sys.stdin:
        verb, *arguments = line.split()
        say(verbs[verb](*arguments))
