"""Entropic optimal transport, on one machine or across clients.

    import fedsinkhorn
    result = fedsinkhorn.solve(C, a, b, epsilon=0.01)      # or solve((X, Y), a, b, epsilon=0.01)
    result.cost.linear, result.f, result.g, result.plan[0]

All solving is done by the C++ library; see docs/python.md. `fedsinkhorn.pot` has the calls of POT, `fedsinkhorn.torch`
a loss for PyTorch.
"""
import atexit
import os

from . import _core, privacy
from ._core import ClientFailed, ClientLost, InputError, Progress, __version__
from ._divergence import Divergence, divergence
from ._model import plan_topology, predict, shipped_profiles
from ._risk import RiskResult, risk
from ._solve import predicted_bytes, serve, solve
from .pot import patch_pot, unpatch_pot
from .result import ConvergenceError, ConvergenceWarning, Costs, Errors, Plan, PrivacyWarning, Result, TargetResult

__all__ = [
    "ClientFailed",
    "ClientLost",
    "ConvergenceError",
    "ConvergenceWarning",
    "Costs",
    "Divergence",
    "Errors",
    "InputError",
    "Plan",
    "PrivacyWarning",
    "Progress",
    "Result",
    "RiskResult",
    "SinkhornTransport",
    "TargetResult",
    "__version__",
    "divergence",
    "patch_pot",
    "plan_topology",
    "predict",
    "predicted_bytes",
    "privacy",
    "risk",
    "serve",
    "shipped_profiles",
    "solve",
    "unpatch_pot",
]

# Where users see them, in messages and when pickled.
for _error in (InputError, ClientLost, ClientFailed):
    _error.__module__ = "fedsinkhorn"
del _error

# Solves of daemon threads end before Python does; a forked child has no such threads.
atexit.register(_core.stop_other_threads)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.forget_threads)


def __getattr__(name):
    if name == "SinkhornTransport":  # scikit-learn takes a second to import, so only who wants it waits for it
        from .estimator import SinkhornTransport

        globals()[name] = SinkhornTransport
        return SinkhornTransport
    raise AttributeError(f"module 'fedsinkhorn' has no attribute {name!r}")
