"""fedsinkhorn.solve: from Python's arguments to the library's, and back."""
import contextlib
import difflib
import functools
import inspect
import signal
import threading

import numpy as np

from . import _core
from ._arrays import as_masses, as_numbers, is_text, on_device
from ._core import InputError
from .progress import bar_for
from .result import Result, check_on_failure, report_failure, warn_of_sums

_OPTIONS = {option["name"]: option for option in _core.options() if option["name"] != "epsilon"}
# Their values are files, so the table of options does not have them.
_FILES = {
    "scenario": "The simulated network of transport \"simulated\": a JSON file",
    "key": "Policy \"sums\": this client's secret key, a file made by `fedsinkhorn privacy key`",
    "fingerprints": "Policy \"sums\": a file with the fingerprints of all clients' keys",
}
# Other names of the command line, and those of POT and OTT-JAX.
_ELSEWHERE = {other: option["name"] for option in _core.options() for other in option["aliases"]}
_ELSEWHERE.update(numItermax="max_iterations", numIterMax="max_iterations", stopThr="tolerance", threshold="tolerance",
                  warmstart="initial_g", potentials_init="initial_g")


def is_interruptible():
    """Whether Ctrl-C during a solve is for this thread to handle, and nobody else has asked for the signal."""
    return (threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler)


def check_options(function, given, others=()):
    """Names of options, as Python checks names of arguments. others: arguments of the function, to suggest."""
    for name in given:
        if name not in _OPTIONS and name not in _FILES:
            known = [*_OPTIONS, *_FILES, *others]
            near = _ELSEWHERE.get(name) or next(iter(difflib.get_close_matches(name, known, 1)), None)
            hint = f"; did you mean {near!r}?" if near in known else ""
            raise TypeError(f"{function}() has no option {name!r}{hint}")
    return given


def with_hints(order):
    """For a function that takes **options: a call that does not fit is answered with the names and the order that do.
    order: of what has no name."""

    def decorate(function):
        named = [name for name, parameter in inspect.signature(function).parameters.items()
                 if parameter.kind is not parameter.VAR_KEYWORD]

        @functools.wraps(function)
        def call(*arguments, **options):
            try:
                return function(*arguments, **options)
            except TypeError as error:
                if error.__traceback__.tb_next is not None:  # the call was right: of what it does
                    raise
                misfit = str(error)
            check_options(function.__name__, {name: None for name in options if name not in named}, named)
            raise TypeError(f"{misfit}; the order is {order}" if "positional" in misfit else misfit)

        return call

    return decorate


def is_points(C):
    """A tuple of two is (X, Y). A list of two is so if its elements are matrices; else it has two rows of costs."""
    if isinstance(C, list) and len(C) == 2:
        return all(getattr(part, "ndim", 0) == 2 for part in C)
    return isinstance(C, tuple) and len(C) == 2


def _mass_tolerance(given, a, b):
    """Totals of float32 masses agree to six digits only."""
    if given is not None:
        return given
    kinds = [getattr(masses, "dtype", None) for masses in (a, b)]
    return 1e-5 if any(kind is not None and str(kind).endswith(("float32", "f4")) for kind in kinds) else 1e-8


def _costs_of(C, options):
    there = None if is_text(options.get("backend"), "cpu") else on_device("C", C)
    return as_numbers("C", C, (2,), fortran=True) if there is None else there


_ORDER = "(C, a, b), or ((X, Y), a, b), all else by name; fedsinkhorn.pot has POT's (a, b, M, reg)"


def _is_column(array):
    return np.ndim(array) == 2 and np.shape(array)[1] == 1


def _check_order(C, a, b):
    """A vector or a single column in place of the costs, and costs of its size in place of b."""
    try:
        are_masses = np.ndim(C) == 1 or (_is_column(C) and np.ndim(b) == 2 and 1 != np.shape(C)[0] == np.shape(b)[0])
    except Exception:  # no arrays, as will be said
        return
    if are_masses:
        raise InputError(f"C: has {np.ndim(C)} dimensions; give 2: the order is {_ORDER}" if np.ndim(C) == 1 else
                         f"C: is a single column, and b has as many rows: the order is {_ORDER}")
    if _is_column(C) and _is_column(a):
        raise InputError("a: has 2 dimensions; give 1, and points as a pair: (X, Y), a, b")


def inputs_of(C, a, b, epsilon, metric, options, initial_g=None, mass_tolerance=None):
    inputs = {"epsilon": epsilon, "mass_tolerance": _mass_tolerance(mass_tolerance, a, b)}
    if is_points(C):
        inputs["X"] = as_numbers("X", C[0], (2,))
        inputs["Y"] = inputs["X"] if C[1] is C[0] else as_numbers("Y", C[1], (2,))
        inputs["metric"] = metric
    else:
        if not is_text(metric, "sqeuclidean"):
            raise InputError("metric: costs were given, not points; give points (X, Y), or leave it out")
        _check_order(C, a, b)
        inputs["C"] = _costs_of(C, options)
    if a is not None:
        if "C" in inputs and getattr(a, "ndim", 1) == 2 and not _is_column(a):
            raise InputError("a: has 2 dimensions; give 1, and points as a pair: (X, Y), a, b")
        inputs["a"] = as_masses("a", a)
    if b is not None:
        inputs["b"] = as_numbers("b", b, (1, 2), float64=True)
    if initial_g is not None:
        inputs["initial_g"] = as_numbers("initial_g", initial_g, (1, 2), float64=True)
    return inputs


def check_comm(comm):
    """The library's clients are all processes that mpirun started."""
    if not _core.has_mpi:
        raise InputError("comm: this package was built without MPI, as wheels are; build it with the MPI of your mpi4py")
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise InputError("comm: needs mpi4py, which is not installed") from error
    if not isinstance(comm, MPI.Comm):
        raise InputError(f"comm: a {type(comm).__name__} was given; give MPI.COMM_WORLD of mpi4py")
    if comm == MPI.COMM_NULL or MPI.Comm.Compare(comm, MPI.COMM_WORLD) not in (MPI.IDENT, MPI.CONGRUENT):
        raise InputError("comm: has not all processes of MPI.COMM_WORLD, in its order; give MPI.COMM_WORLD")


@contextlib.contextmanager
def result_attached(kind, as_result):
    """A KeyboardInterrupt has the result so far as its attribute `result`, or None. kind: what the library attaches."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        so_far = getattr(interrupt, "result", None)
        interrupt.result = as_result(so_far) if isinstance(so_far, kind) else None
        raise


@contextlib.contextmanager
def others_told(comm, options):
    """Around the checks of one client's arguments: the others wait for it, and are told if something is wrong."""
    try:
        yield
    except Exception as error:
        if comm is not None:
            given = {name: options[name] for name in ("policy", "server", "timeout") if name in options}
            _core.decline(" ".join(str(error).split()), given)
        raise


def check_callback(callback):
    if callback is not None and not callable(callback):
        raise InputError(f"callback: a {type(callback).__name__} cannot be called")


def _parts_of(parts, inputs, comm):
    if parts is None:
        return [name for name in ("C", "X", "a") if name in inputs] if comm is not None else []
    if not isinstance(parts, (list, tuple, set, frozenset)) or not all(isinstance(part, str) for part in parts):
        raise InputError("parts: is no list of names; give some of 'C', 'X', 'Y', 'a', 'b', 'initial_g'")
    if comm is None and parts:
        raise InputError("parts: only clients in processes of their own have parts; give comm")
    return list(parts)


@with_hints(_ORDER)
def solve(C, a=None, b=None, *, epsilon, metric="sqeuclidean", initial_g=None, mass_tolerance=None,
          callback=None, progress=False, on_failure="warn", comm=None, parts=None, **options):
    if comm is not None:
        check_comm(comm)
    with others_told(comm, options):
        check_options("solve", options, ("epsilon", "metric", "initial_g", "callback", "progress", "on_failure"))
        check_on_failure(on_failure)
        check_callback(callback)
        inputs = inputs_of(C, a, b, epsilon, metric, options, initial_g, mass_tolerance)
        inputs["parts"] = _parts_of(parts, inputs, comm)
        prepared = _core.Prepared(inputs, options)
    with result_attached(_core.Solved, lambda so_far: Result(so_far, inputs)), bar_for(progress, callback) as follow:
        result = Result(_core.solve(prepared, follow, is_interruptible(), comm is not None), inputs)
    if options.get("policy") == "sums":
        warn_of_sums(result.summary)
    report_failure(result.status, lambda: _not_converged(result), on_failure, result)
    return result


def _not_converged(result):
    errors = result.errors
    return (f"the solve stopped without converging: {result.status} after {result.iterations} iterations, marginal "
            f"errors {errors.a:.3g} and {errors.b:.3g}")


def serve(comm, timeout=60):
    """This process adds up the others' masked sums of one `solve(..., server="sums")`, and returns when that has ended.
    It must be the last of the processes; it gets no data and no results."""
    check_comm(comm)
    _core.serve(timeout)


@with_hints(_ORDER)
def predicted_bytes(C, a=None, b=None, *, epsilon, metric="sqeuclidean", **options):
    """The peak memory of solve() for these arguments, in bytes, without the inputs."""
    check_options("predicted_bytes", options, ("epsilon", "metric"))
    return _core.predicted_bytes(_core.Prepared(inputs_of(C, a, b, epsilon, metric, options), options))


_HEAD = """Solve  min <P, C> + epsilon * sum P (log P - 1)  over plans P with row sums a and column sums b.

Parameters
----------
C : matrix of costs, n x m, or a pair (X, Y) of points, n x d and m x d
    Float32 and float64 are read in place: costs in C or Fortran order, or in C order on a GPU; points in C order. +inf
    forbids a pair.
a, b : masses, n (or n x 1) and m
    None means uniform with total 1. b with two dimensions has several targets, one per column.
epsilon : regularisation, absolute, in units of the cost
metric : "sqeuclidean" (not halved), "euclidean" or "cosine", of points
initial_g : the potential g to start from, such as that of an earlier result
mass_tolerance : relative difference of the totals of a and b attributed to rounding
    Default 1e-8, or 1e-5 if masses are float32.
callback : called with a Progress after each check of the error; with comm only on the first process
    What it raises ends the solve and is raised by it. If it returns True, the solve ends with status "interrupted".
progress : True shows a bar, by tqdm if that is installed
on_failure : "warn", "raise" or "ignore", if the solve does not converge
comm : MPI.COMM_WORLD of mpi4py: every process is one client and calls this with its own rows of C (or X) and of a
parts : names of the arguments that are only this client's part, others being the whole; default C or X, and a

Options
-------
"""
_TAIL = """
Returns
-------
Result

Raises
------
InputError (a ValueError) for arguments that cannot be solved as given, naming the argument; TypeError for names that
are no options; ConvergenceError with on_failure="raise"; ClientLost, ClientFailed with comm; KeyboardInterrupt, whose
attribute `result` is the result so far or None; MemoryError.
"""


def _described(option):
    text = option["help"]
    if option["choices"]:
        text += f". One of {', '.join(option['choices'])}"
    if option["range"]:
        text += f". {option['range'][0].upper()}{option['range'][1:]}"
    default = option["default_text"] or repr(option["default"])
    return f"{option['name']} : {option['type']}\n    {text}. Default: {default}.\n"


def documented(function, head, tail):
    """Gives a function that takes **options their names and docstrings, from the library's table."""
    signature = inspect.signature(function)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    extra = [inspect.Parameter(option["name"], inspect.Parameter.KEYWORD_ONLY, default=option["default"])
             for option in _OPTIONS.values()]
    extra += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _FILES]
    function.__signature__ = signature.replace(parameters=own + extra)
    files = "".join(f"{name} : path\n    {text}.\n" for name, text in _FILES.items())
    function.__doc__ = head + "".join(_described(option) for option in _OPTIONS.values()) + files + tail


documented(solve, _HEAD, _TAIL)
