"""The calls of POT, with POT's arguments and return values, solved by this library.

    from fedsinkhorn import pot as ot            # in place of `import ot`, for the functions below
    fedsinkhorn.patch_pot()                      # or: in all of an installed POT

What differs from POT, and what is ignored, is listed in docs/python.md ("In place of POT").
"""
import contextlib
import functools
import re
import sys
from types import SimpleNamespace

import numpy as np

from ._arrays import as_numbers, errors_named
from ._core import InputError
from ._divergence import divergence
from ._solve import solve as _solve
from .result import ConvergenceWarning, warn_caller

__all__ = ["OTResult", "empirical_sinkhorn_divergence", "patch_pot", "sinkhorn", "sinkhorn2", "solve", "solve_sample",
           "unpatch_pot"]

# They name variants of one algorithm, which have the same solution.
_METHODS = ("sinkhorn", "sinkhorn_log", "greenkhorn", "sinkhorn_stabilized", "sinkhorn_epsilon_scaling")
_METHODS_OF_LOSSES = ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized")


_originals = {}  # by name: what POT has, while it is patched
_patched = []  # (module, name, what it had or None)
_reasons_told = set()  # why POT's own functions were called


def _or_theirs(function):
    """What ours refuses is for POT's own function, where POT is patched: it has the last word on what is an error."""
    name = function.__name__

    @functools.wraps(function)
    def call(*arguments, **named):
        theirs = _originals.get(name)
        try:
            return function(*arguments, **named)
        except (InputError, TypeError) as error:
            if theirs is None:
                raise
            refusal = str(error)
        answer = theirs(*arguments, **named)
        number = r"[-+]?\d[\w.+-]*"
        reason = name, re.sub(f"{number}((, | and ){number})*", "#", refusal)
        if reason not in _reasons_told:
            _reasons_told.add(reason)
            warn_caller(f"ot.{name}: POT's own function solves this, fedsinkhorn does not ({refusal})")
        return answer

    return call


def _check_method(method, known):
    if not isinstance(method, str) or method.lower() not in known:
        raise InputError(f"method: Unknown method '{method}'; choose {', '.join(known)}")


def _like(reference, numbers):
    """Numbers as an array of the library that the reference comes from, on its device and with its type, or float64 if
    that is integer."""
    library = type(reference).__module__.split(".")[0]
    if library == "torch":
        import torch

        kind = reference.dtype if reference.is_floating_point() else torch.float64
        return torch.as_tensor(np.array(numbers), dtype=kind, device=reference.device)
    if library in ("jax", "jaxlib"):
        import jax.numpy

        return jax.numpy.asarray(numbers, dtype=float if reference.dtype.kind in "iub" else reference.dtype)
    if library == "cupy":
        import cupy

        return cupy.asarray(numbers, dtype=float if reference.dtype.kind in "iub" else reference.dtype)
    if library == "tensorflow":
        import tensorflow

        kind = reference.dtype if reference.dtype.is_floating else tensorflow.float64
        return tensorflow.convert_to_tensor(numbers, dtype=kind)
    kind = getattr(reference, "dtype", np.dtype(np.float64))
    kind = kind if kind in (np.float32, np.float64) else np.dtype(np.float64)
    return kind.type(numbers) if np.ndim(numbers) == 0 else np.asarray(numbers, dtype=kind)


def _plan_like(reference, plan):
    if type(reference).__module__.split(".")[0] != "torch":
        return _like(reference, plan.dense())
    from .torch import plan_like

    return plan_like(reference, plan)


@contextlib.contextmanager
def _named(**names):
    """Errors name POT's arguments; names: those by ours."""
    with errors_named(names):
        try:
            yield
        except InputError as error:  # of an option that POT does not have
            raise InputError(str(error).replace(", or add normalize", "")) from None


_OF_SINKHORN = {"C": "M", "epsilon": "reg", "max_iterations": "numItermax", "tolerance": "stopThr",
                "initial_g": "warmstart"}
_OF_SAMPLES = {"X": "X_s", "Y": "X_t", "epsilon": "reg", "max_iterations": "numIterMax", "tolerance": "stopThr"}
_OF_SOLVE = {"C": "M", "X": "X_a", "Y": "X_b", "epsilon": "reg", "max_iterations": "max_iter", "tolerance": "tol",
             "initial_g": "potentials_init"}


def _masses(masses):
    """POT's empty list means uniform."""
    try:
        return None if masses is None or len(masses) == 0 else masses
    except TypeError:  # it has no length: solve() will say what is wrong
        return masses


class _Printer:
    def __init__(self):
        self._lines = 0

    def __call__(self, progress):
        if self._lines % 20 == 0:
            print(f"{'It.':5s}|{'Err':12s}\n{'-' * 19}")
        self._lines += 1
        print(f"{progress.iteration:5d}|{max(progress.error_a, progress.error_b):8e}|")


def _number(name, value):
    """Also of arrays and tensors that have just one."""
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{name}: a {type(value).__name__} was given; give a number")


def _second_of(name, pair):
    try:
        _, second = pair
    except (TypeError, ValueError):
        raise InputError(f"{name}: is no pair; give one for a and one for b") from None
    return second


def _settings(reg, iterations, threshold, verbose, warmstart):
    """POT stops by the L2 norm."""
    settings = dict(epsilon=reg, max_iterations=iterations, tolerance=threshold, norm="l2", on_failure="ignore")
    if verbose:
        settings.update(callback=_Printer(), check_every=10)
    if warmstart is not None:
        log_v = as_numbers("warmstart", _second_of("warmstart", warmstart), (1, 2), float64=True)
        settings["initial_g"] = reg * log_v
    return settings


def _warn_of(status, warn):
    if warn and status != "converged":
        warn_caller("Sinkhorn did not converge. You might want to increase the number of iterations `numItermax` or "
                    "the regularization parameter `reg`.", ConvergenceWarning)


def _log_of(result, reg, M):
    """What POT's solvers log, under all the names they have for it."""
    log_u, log_v = np.array(result.f) / reg, np.array(result.g) / reg
    # A constant may be moved from one to the other; this one keeps both exponentials in range for longest.
    with np.errstate(invalid="ignore", over="ignore"):
        shift = (log_u.max(axis=0) - log_v.max(axis=0)) / 2
        shift = np.where(np.isfinite(shift), shift, 0)
        log_u, log_v = log_u - shift, log_v + shift
        u, v = np.exp(log_u), np.exp(log_v)
    errors = np.maximum(result.trace["error_a"], result.trace["error_b"])
    log = {"err": [float(error) for error in errors], "niter": result.iterations, "n_iter": result.iterations}
    for names, numbers in ((("u",), u), (("v",), v), (("log_u", "logu"), log_u), (("log_v", "logv"), log_v),
                           (("alpha",), reg * log_u), (("beta",), reg * log_v)):
        for name in names:
            log[name] = _like(M, numbers)
    log["warmstart"] = (log["log_u"], log["log_v"])
    return log


def _nan_for(M, b, log, is_loss):
    """With reg=0 POT's loops break down, warn and return NaN, whatever `warn` is; so do we."""
    shape = as_numbers("M", M, (2,), fortran=True).shape
    if 0 in shape:
        raise InputError("M: has no entries")
    targets = () if b is None else as_numbers("b", b, (1, 2)).shape[1:]
    warn_caller("numerical errors at iteration 0: reg is 0, so the result is NaN")
    answer = _like(M, np.full(targets if is_loss or targets else shape, np.nan))
    f, g = (np.full((lines, *targets), np.nan) for lines in shape)
    error = np.array([np.nan])
    failed = SimpleNamespace(f=f, g=g, iterations=0, trace={"error_a": error, "error_b": error})
    return (answer, _log_of(failed, 1.0, M)) if log else answer


def _refuse_gradients(function, *tensors):
    if not any(getattr(tensor, "requires_grad", False) for tensor in tensors):
        return
    torch = sys.modules.get("torch")
    if function in _originals and (torch is None or torch.is_grad_enabled()):
        raise InputError(f"{function}: its result has no gradients here")
    warn_caller(f"{function}: its result has no gradients; use sinkhorn2, or the losses of fedsinkhorn.torch")


@_or_theirs
def sinkhorn(a, b, M, reg, method="sinkhorn", numItermax=1000, stopThr=1e-9, verbose=False, log=False, warn=True,
             warmstart=None, **kwargs):
    """As ot.sinkhorn: the plan, or with b of two dimensions the losses <P, M>; with `log` also a dictionary.
    Other arguments of POT's solvers (tau, epsilon0, ...) are ignored."""
    _check_method(method, _METHODS)
    _refuse_gradients("sinkhorn", a, b, M)
    reg = _number("reg", reg)
    if reg == 0:
        return _nan_for(M, _masses(b), log, is_loss=False)
    with _named(**_OF_SINKHORN):
        result = _solve(M, _masses(a), _masses(b), **_settings(reg, numItermax, stopThr, verbose, warmstart))
    _warn_of(result.status, warn)
    if result.f.ndim == 2:
        answer = _like(M, np.array([target.cost.linear for target in result.per_target]))
    else:
        answer = _plan_like(M, result.plan)
    return (answer, _log_of(result, reg, M)) if log else answer


@_or_theirs
def sinkhorn2(a, b, M, reg, method="sinkhorn", numItermax=1000, stopThr=1e-9, verbose=False, log=False, warn=True,
              warmstart=None, **kwargs):
    """As ot.sinkhorn2: <P, M>, one for each column of b. Its tensors can be differentiated, by the envelope theorem."""
    _check_method(method, _METHODS_OF_LOSSES)
    a, b = _masses(a), _masses(b)
    reg = _number("reg", reg)
    if reg == 0:
        return _nan_for(M, b, log, is_loss=True)
    settings = _settings(reg, numItermax, stopThr, verbose, warmstart)
    with _named(**_OF_SINKHORN):
        if any(getattr(tensor, "requires_grad", False) for tensor in (a, b, M)):
            from .torch import value_and_result

            answer, result = value_and_result(M, a, b, "linear", settings)
        else:
            result = _solve(M, a, b, **settings)
            losses = np.array([target.cost.linear for target in result.per_target])
            answer = _like(M, losses if result.f.ndim == 2 else losses[0])
    _warn_of(result.status, warn)
    return (answer, _log_of(result, reg, M)) if log else answer


@_or_theirs
def empirical_sinkhorn_divergence(X_s, X_t, reg, a=None, b=None, metric="sqeuclidean", numIterMax=10000, stopThr=1e-9,
                                  verbose=False, log=False, warn=True, warmstart=None, **kwargs):
    """As ot.bregman.empirical_sinkhorn_divergence: <P, C> of the two samples minus half of those within each, and at
    least 0. `fedsinkhorn.divergence` has the usual one, with the entropies."""
    _refuse_gradients("empirical_sinkhorn_divergence", X_s, X_t, a, b)
    a, b = _masses(a), _masses(b)
    reg = _number("reg", reg)
    settings = _settings(reg, numIterMax, stopThr, verbose, None)
    pairs = (((X_s, X_t), a, b), ((X_s, X_s), a, a), ((X_t, X_t), b, b))
    if not log:
        with _named(**_OF_SAMPLES):
            result = divergence(X_s, X_t, a, b, metric=metric, **settings)
        _warn_of(result.status, warn)
        return _like(X_s, max(0.0, result.linear))
    losses, logs = [], []
    for points, rows, columns in pairs:
        with _named(**_OF_SAMPLES):
            result = _solve(points, rows, columns, metric=metric, **settings)
        _warn_of(result.status, warn)
        losses.append(result.cost.linear)
        logs.append(_log_of(result, reg, X_s))
    names = ("ab", "a", "b")
    details = {f"sinkhorn_loss_{name}": _like(X_s, loss) for name, loss in zip(names, losses)}
    details.update({f"log_sinkhorn_{name}": one for name, one in zip(names, logs)})
    return _like(X_s, max(0.0, losses[0] - (losses[1] + losses[2]) / 2)), details


class OTResult:
    """What ot.solve returns: plan, potentials (in units of the cost), value, value_linear, marginals, status, log."""

    def __init__(self, result, reference, reg_type):
        self._result = result
        self._reference = reference
        self._reg_type = reg_type
        self.status = "Converged" if result.converged else result.status
        self.log = _log_of(result, result.epsilon, reference)

    @property
    def plan(self):
        return _plan_like(self._reference, self._result.plan)

    @property
    def lazy_plan(self):
        """The plan that is never stored (fedsinkhorn.Plan)."""
        return self._result.plan

    @property
    def potentials(self):
        return self.potential_a, self.potential_b

    @property
    def potential_a(self):
        return _like(self._reference, np.array(self._result.f))

    @property
    def potential_b(self):
        return _like(self._reference, np.array(self._result.g))

    @property
    def value_linear(self):
        return _like(self._reference, self._result.cost.linear)

    @property
    def value(self):
        cost = self._result.cost
        entropic = cost.linear - self._result.epsilon * cost.shannon_entropy
        return _like(self._reference, cost.kl_objective if self._reg_type == "kl" else entropic)

    @property
    def marginals(self):
        return self.marginal_a, self.marginal_b

    @property
    def marginal_a(self):
        return _like(self._reference, self._result.plan.apply(np.ones(self._result.plan.shape[1])))

    @property
    def marginal_b(self):
        return _like(self._reference, self._result.plan.apply_transposed(np.ones(self._result.plan.shape[0])))

    def __repr__(self):
        return f"OTResult(value={self.value}, value_linear={self.value_linear}, status={self.status!r})"


def _require_entropic(reg, reg_type, unbalanced, plan_init, others):
    if reg is None or not _number("reg", reg) > 0:
        raise InputError("reg: exact transport was asked for; give a regularisation above 0")
    if unbalanced is not None:
        raise InputError("unbalanced: both marginals are fixed here; leave it out")
    if not isinstance(reg_type, str) or reg_type.lower() not in ("kl", "entropy"):
        raise InputError(f"reg_type: {reg_type!r} is not entropic; choose 'KL' or 'entropy'")
    if plan_init is not None:
        raise InputError("plan_init: a plan is no starting point here; give potentials_init")
    for name, value in others.items():
        if value is not None:
            raise InputError(f"{name}: is not supported; leave it out")


def _solved(C, a, b, reg, reference, reg_type, max_iter, tol, potentials_init, verbose, **settings):
    reg = _number("reg", reg)
    settings.update(_settings(reg, 1000 if max_iter is None else max_iter, 1e-9 if tol is None else tol, verbose, None))
    if potentials_init is not None:
        settings["initial_g"] = as_numbers("potentials_init", _second_of("potentials_init", potentials_init), (1,),
                                           float64=True)
    with _named(**_OF_SOLVE):
        result = _solve(C, _masses(a), _masses(b), **settings)
    _warn_of(result.status, True)
    return OTResult(result, reference, reg_type.lower())


@_or_theirs
def solve(M, a=None, b=None, reg=None, c=None, reg_type="KL", unbalanced=None, unbalanced_type="KL", method=None,
          n_threads=1, max_iter=None, plan_init=None, potentials_init=None, tol=None, verbose=False, grad="autodiff"):
    """As ot.solve, for entropic regularisation with both marginals fixed: an object with plan, value, ..."""
    _require_entropic(reg, reg_type, unbalanced, plan_init, {"c": c, "method": method})
    _refuse_gradients("solve", M, a, b)
    return _solved(M, a, b, reg, M, reg_type, max_iter, tol, potentials_init, verbose)


@_or_theirs
def solve_sample(X_a, X_b, a=None, b=None, metric="sqeuclidean", reg=None, c=None, reg_type="KL", unbalanced=None,
                 unbalanced_type="KL", lazy=False, batch_size=None, method=None, n_threads=1, max_iter=None,
                 plan_init=None, rank=100, scaling=0.95, potentials_init=None, X_init=None, tol=None, verbose=False,
                 grad="autodiff", random_state=None):
    """As ot.solve_sample: the costs are distances of points. lazy: the kernel is not stored (kernel "online")."""
    _require_entropic(reg, reg_type, unbalanced, plan_init, {"c": c, "method": method, "X_init": X_init})
    _refuse_gradients("solve_sample", X_a, X_b, a, b)
    return _solved((X_a, X_b), a, b, reg, X_a, reg_type, max_iter, tol, potentials_init, verbose, metric=metric,
                   kernel="online" if _number("lazy", lazy) else "dense")


# Its conditional gradients take few iterations of plain Sinkhorn at a time, and what they find depends on that.
_LEFT_ALONE = ("ot.optim",)


def patch_pot():
    """Puts sinkhorn, sinkhorn2, solve, solve_sample and empirical_sinkhorn_divergence into POT, wherever its modules
    have them, but for ot.optim. What these refuse is then solved by POT's own functions, with a warning for each reason.
    Returns the names of the places. `unpatch_pot` takes them out again."""
    if _patched:
        return [f"{module.__name__}.{name}" for module, name, _ in _patched]
    try:
        import ot
    except ImportError as error:
        raise InputError("ot: POT is not installed") from error
    ours = {"sinkhorn": (ot.bregman, sinkhorn), "sinkhorn2": (ot.bregman, sinkhorn2),
            "empirical_sinkhorn_divergence": (ot.bregman, empirical_sinkhorn_divergence), "solve": (ot, solve),
            "solve_sample": (ot, solve_sample)}
    for name, (home, function) in ours.items():
        theirs = getattr(home, name, None)
        if theirs is None:
            _patched.append((home, name, None))  # an older POT, which does not have it
        else:
            _originals[name] = theirs
            modules = [module for key, module in list(sys.modules.items())
                       if (key == "ot" or key.startswith("ot.")) and key not in _LEFT_ALONE]
            _patched.extend((module, name, theirs) for module in modules if getattr(module, name, None) is theirs)
        for module, place, _ in _patched:
            if place == name:
                setattr(module, name, function)
    return [f"{module.__name__}.{name}" for module, name, _ in _patched]


def unpatch_pot():
    """Undoes patch_pot."""
    for module, name, theirs in _patched:
        if theirs is None:
            delattr(module, name)
        else:
            setattr(module, name, theirs)
    _patched.clear()
    _originals.clear()
    _reasons_told.clear()
