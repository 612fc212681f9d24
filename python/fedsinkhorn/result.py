"""What a solve gives: potentials, costs, errors, and the plan on demand."""
import html
import json
import math
import sys
import warnings
from typing import NamedTuple

import numpy as np

from . import _core
from ._arrays import as_numbers, errors_named, is_text, written_on_device
from ._core import InputError


_ROWS_AT_ONCE = 256


class ConvergenceWarning(UserWarning):
    """A solve has stopped without converging. Its result says where."""


class PrivacyWarning(UserWarning):
    """With policy "sums", clients have seen as many sums as there are unknown numbers in the others' rows."""


class ConvergenceError(RuntimeError):
    """The same as an error, for on_failure="raise"; `result` is the result so far."""

    def __init__(self, message, result=None):
        super().__init__(message)
        self.result = result


class Costs(NamedTuple):
    """Costs of one plan P. NaN where not known."""

    linear: float  #: <P, C>
    entropy: float  #: -sum P (log P - 1)
    objective: float  #: linear - epsilon * entropy, which is minimised
    dual: float  #: <f, a> + <g, b> - epsilon * sum P
    shannon_entropy: float  #: -sum P log P
    kl_objective: float  #: linear + epsilon * KL(P | a x b)


class Errors(NamedTuple):
    """Norms of P 1 - a and P' 1 - b."""

    a: float
    b: float


class TargetResult(NamedTuple):
    """One target, that is one column of b."""

    status: str
    iterations: int
    errors: Errors
    cost: Costs


class Plan:
    """The plan P_ij = exp((f_i + g_j - C_ij) / epsilon), computed when it is asked for and never stored.

    With several targets, `plan.target(k)` is that of target k; others speak of target 0.
    A result of one MPI rank has only that rank's rows of the plan; they are numbered from 0 here.
    """

    def __init__(self, solved, shape, first_row, targets, target=0):
        self._solved = solved
        self._first_row = first_row
        self._targets = targets
        self._target = target
        self.shape = shape  #: rows, columns

    def target(self, k):
        """The plan of target k."""
        return Plan(self._solved, self.shape, self._first_row, self._targets, _target(k, self._targets))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        """`plan[i]` is row i, `plan[i:j]` are rows, `plan[i, j]` is an entry or, with slices, a part of rows."""
        if isinstance(index, tuple):
            if len(index) != 2:
                raise IndexError("a plan has two dimensions")
            part = self[index[0]]
            try:
                return part[..., index[1]][()]
            except (TypeError, ValueError) as error:  # of NumPy, for lists that are no indices
                raise IndexError(f"no columns: {error}") from error
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step == 1:
                return self.rows(first, max(first, last))
            return np.array([self[i] for i in range(first, last, step)]).reshape(-1, self.shape[1])
        i = _index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"row {i} of {len(self)}")
        return self.rows(i % len(self), i % len(self) + 1)[0]

    def rows(self, first, last):
        """Rows first up to, but without, last."""
        first, last = _index(first), _index(last)
        if not 0 <= first <= last <= len(self):
            raise IndexError(f"rows {first} to {last} of {len(self)}")
        return self._solved.rows(self._first_row + first, last - first, self._target)

    def dense(self, out=None):
        """The whole plan, as an array. out: an array to write to and return instead, of NumPy, or of PyTorch or CuPy in
        the memory of the GPU that has solved the problem; float32 or float64."""
        if out is None:
            return self.rows(0, len(self))
        if tuple(getattr(out, "shape", ())) != tuple(self.shape):
            raise InputError(f"out: is no array of {self.shape[0]} x {self.shape[1]}")
        if isinstance(out, np.ndarray):
            if out.dtype not in (np.float32, np.float64) or not out.flags.writeable:
                kind = f"has the type {out.dtype}" if out.flags.writeable else "is read-only"
                raise InputError(f"out: {kind}; give an array of float32 or float64 to write to")
            for first in range(0, len(self), _ROWS_AT_ONCE):
                out[first:first + _ROWS_AT_ONCE] = self.rows(first, min(len(self), first + _ROWS_AT_ONCE))
            return out
        self._solved.write_rows(self._first_row, len(self), self._target, written_on_device("out", out))
        return out

    @property
    def device(self):
        """The number of the GPU that computes the plan; None: the host does."""
        return self._solved.device()

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a plan is computed, so it cannot be had without a copy")
        return np.asarray(self.dense(), dtype=dtype)

    def apply(self, values):
        """P values, for a vector or a matrix with a row for each column of the plan."""
        return self._product(self._solved.apply, values)

    def apply_transposed(self, values):
        """P' values, for a vector or a matrix with a row for each row of the plan."""
        return self._product(self._solved.apply_transposed, values)

    def barycentric(self, values):
        """Where each row goes on average: P values / P 1. `values` are usually the points Y. NaN for rows without
        mass."""
        return self._product(self._solved.barycentric, values)

    def _product(self, product, values):
        numbers = as_numbers("values", values, (1, 2), float64=True)
        with errors_named({"plan values": "values"}):
            out = product(numbers.reshape(len(numbers), -1) if len(numbers) else numbers.reshape(0, 1), self._target)
        return out[:, 0] if numbers.ndim == 1 else out

    def __repr__(self):
        rows, columns = self.shape
        return f"<plan of {rows} x {columns}, computed on demand>"


def _index(value):
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return value.__index__()
    except (AttributeError, TypeError):  # NumPy's arrays have the method, and throw
        raise IndexError(f"a {type(value).__name__} is no index") from None


def _target(value, targets):
    k = _index(value)
    if not -targets <= k < targets:
        raise IndexError(f"target {k} of {targets}")
    return k % targets


class Result:
    """The result of `solve`. Potentials are in units of the cost: P = exp((f + g' - C) / epsilon).

    f, g: with b of two dimensions, one column for each target. Where a mass is 0, the potential is -inf.
    status: "converged", "iteration_limit", "diverged", "interrupted", "client_lost", "budget_spent" or "sums_limit".
    cost, errors: of all targets together (costs added up, errors of the worst); `per_target` has each.
    """

    def __init__(self, solved, inputs):
        self._solved = solved
        self._inputs = inputs
        self._facts = solved.facts()
        self._summary = None
        self._trace = None

    @property
    def f(self):
        return self._solved.f()

    @property
    def g(self):
        return self._solved.g()

    @property
    def status(self):
        return self._facts["status"]

    @property
    def converged(self):
        return self._facts["status"] == "converged"

    @property
    def iterations(self):
        return self._facts["iterations"]

    @property
    def epsilon(self):
        return self._facts["epsilon"]

    @property
    def cost(self):
        return Costs(*self._facts["cost"])

    @property
    def errors(self):
        return Errors(*self._facts["errors"])

    @property
    def per_target(self):
        return [TargetResult(status, iterations, Errors(*errors), Costs(*cost))
                for status, iterations, errors, cost in self._facts["per_target"]]

    @property
    def seconds(self):
        """Of the whole solve, as the library measured it."""
        return self._facts["seconds"]

    @property
    def first_row(self):
        """The first row of the whole problem that f has; not 0 only for MPI ranks other than the first."""
        return self._facts["first_row"]

    @property
    def trace(self):
        """One entry for each check of the error: a dictionary of arrays."""
        if self._trace is None:
            self._trace = self._solved.trace()
        return self._trace

    @property
    def summary(self):
        """All that the command line writes to summary.json, as a dictionary (docs/summary.schema.json)."""
        if self._summary is None:
            self._summary = json.loads(self._solved.summary())
        return self._summary

    @property
    def clients(self):
        """What each client held, computed and sent, as far as it is known here."""
        return self.summary["clients"]

    @property
    def plan(self):
        facts = self._facts
        return Plan(self._solved, (facts["rows_of_plan"], facts["columns"]), facts["first_row"], facts["targets"])

    def extend(self, C):
        """The plan of other rows under the same g, such as new points X: each row has the same mass, in total 1, and
        its potential follows from g. For costs from points give X, else the costs of the new rows."""
        if "Y" in self._inputs.get("parts", ()):
            raise InputError("Y: was given in parts, but plans need the points of all columns")
        inputs = {"epsilon": self.epsilon}
        if "C" in self._inputs:
            inputs["C"] = as_numbers("C", C, (2,), fortran=True)
            _require_columns("C", inputs["C"], self._facts["columns"], "columns; the result has")
        else:
            inputs.update(X=as_numbers("X", C, (2,)), Y=self._inputs["Y"], metric=self._inputs["metric"])
            _require_columns("X", inputs["X"], inputs["Y"].shape[1], "coordinates; the points Y have")
        with errors_named({} if "C" in inputs else {"C": "X"}):
            solved = self._solved.extend(inputs)
        facts = solved.facts()
        return Plan(solved, (facts["rows"], facts["columns"]), 0, facts["targets"])

    def gradients(self, target=0):
        """(dV/dX, dV/dY) of V = cost.kl_objective, for costs from points. By the envelope theorem: exact where the
        solve has converged. With respect to a matrix of costs the gradient is the plan."""
        return self._solved.point_gradients(_target(target, self._facts["targets"]))

    def mass_gradients(self, target=0):
        """(dV/da, dV/db), each up to a constant: masses keep their totals. Each sums to 0. With normalize=True totals
        may change, and these are the derivatives with respect to the masses as given."""
        return self._solved.mass_gradients(_target(target, self._facts["targets"]))

    def __repr__(self):
        facts = self._facts
        cost = self.cost
        several = f", {facts['targets']} targets" if facts["several_targets"] else ""
        return (f"<fedsinkhorn.Result: {facts['status']} after {facts['iterations']} iterations, "
                f"{facts['rows']} x {facts['columns']}{several}, epsilon {facts['epsilon']:g}, "
                f"<P, C> {cost.linear:.6g}, errors {self.errors.a:.1e} and {self.errors.b:.1e}>")

    def _repr_html_(self):
        rows = [("status", f"{self.status} after {self.iterations} iterations, {self.seconds:.3g} s")]
        rows += [(name.replace("_", " "), f"{value:.10g}") for name, value in zip(Costs._fields, self.cost)]
        rows += [("errors of a, b", f"{self.errors.a:.3g}, {self.errors.b:.3g}")]
        cells = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                        for name, value in rows)
        return f"<div><table>{cells}</table>{_curve(self.trace)}</div>"

    def __getstate__(self):
        inputs = {name: value.on_host() if isinstance(value, _core.DeviceArray) else value
                  for name, value in self._inputs.items()}
        return {"inputs": inputs, "state": self._solved.state(), "facts": self._facts, "trace": self.trace,
                "summary": self.summary}

    def __setstate__(self, pickled):
        self._inputs = pickled["inputs"]
        self._facts = pickled["facts"]
        self._trace = pickled["trace"]
        self._summary = pickled["summary"]
        self._solved = _core.Solved.restore(self._inputs, pickled["state"])


def _require_columns(name, array, columns, what):
    if array.shape[1] != columns:
        raise InputError(f"{name}: has {array.shape[1]} {what} {columns}")


def _curve(trace, width=420, height=120, most=300):
    """The larger error against the iteration, logarithmic, as SVG."""
    errors = np.maximum(trace["error_a"], trace["error_b"])
    iterations = trace["iteration"]
    good = np.isfinite(errors) & (errors > 0)
    errors, iterations = errors[good], iterations[good]
    if len(errors) < 2:
        return ""
    thin = np.unique(np.linspace(0, len(errors) - 1, most).astype(int))
    logs = np.log10(errors[thin])
    x = iterations[thin] / max(1, iterations[-1]) * (width - 60) + 50
    low, high = math.floor(logs.min()), math.ceil(logs.max())
    y = 5 + (high - logs) / max(1, high - low) * (height - 25)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return (f"<svg width='{width}' height='{height}' role='img' aria-label='error against iterations'>"
            f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='1.5'/>"
            f"<text x='0' y='14' font-size='11'>1e{high}</text>"
            f"<text x='0' y='{height - 18}' font-size='11'>1e{low}</text>"
            f"<text x='50' y='{height - 3}' font-size='11'>marginal error over {int(iterations[-1])} iterations</text>"
            f"</svg>")


def report_failure(status, describe, on_failure, result):
    """Warns of a solve that did not converge, raises, or does nothing. budget_spent is what private runs end with."""
    if status in ("converged", "budget_spent") or on_failure == "ignore":
        return
    if on_failure == "raise":
        raise ConvergenceError(describe(), result)
    warn_caller(describe(), ConvergenceWarning)


def warn_of_sums(summary):
    privacy = summary.get("privacy")
    if isinstance(privacy, dict) and privacy.get("rows_are_determined"):
        warn_caller(privacy["sentence"], PrivacyWarning)


def warn_caller(message, category=UserWarning):
    """A warning that names the line which called the package, by whatever way."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("fedsinkhorn", "torch"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def check_on_failure(on_failure):
    if not is_text(on_failure, "warn", "raise", "ignore"):
        raise InputError(f"on_failure: unknown name {on_failure!r}; choose 'warn', 'raise' or 'ignore'")
