"""Worst-case risk: how bad a loss can be under any distribution near the observed one. docs/risk.md explains it."""
import json

from . import _core
from ._arrays import as_masses, as_numbers
from ._solve import check_comm, check_options, is_interruptible, others_told, result_attached, with_hints
from .result import check_on_failure, report_failure, warn_of_sums


class RiskResult:
    """summary: all figures, by the names of `fedsinkhorn risk` (docs/risk-summary.schema.json); the main ones are
    attributes. scenario_weights: the worst-case distribution over the scenarios. losses_after: the expected loss of
    each day."""

    def __init__(self, answer):
        self.summary = json.loads(answer["summary"])
        self.scenario_weights = answer["scenario_weights"]
        self.scenario_losses = answer["scenario_losses"]
        self.losses_after = answer["losses_after"]

    @property
    def status(self):
        return self.summary["status"]

    @property
    def loss(self):
        """The worst case."""
        return self.summary["worst_case_loss"]

    @property
    def expected_loss(self):
        """Of the days as they were; None if their losses are not known."""
        return self.summary["expected_loss"]

    @property
    def sweep(self):
        return self.summary["sweep"]

    def __repr__(self):
        return f"<fedsinkhorn.RiskResult: worst case {self.loss}, before {self.expected_loss}, {self.status}>"


@with_hints("(returns, scenarios)")
def risk(returns=None, scenarios=None, *, radius, epsilon, weights=None, are_gains=False, scenario_losses=None,
         return_losses=None, costs=None, cost="sqeuclidean", covariance=None, a=None, cvar_level=0, may_stay=False,
         radii=None, stress_marginal=None, comm=None, on_failure="warn", **options):
    """The worst expected loss (with cvar_level the worst CVaR) over distributions within `radius` of the observed days.

    returns: days x assets; scenarios: m x assets; weights: the loss of a day x is weights.x, with are_gains -weights.x.
    Or: costs (days x m) in place of returns and scenarios, scenario_losses and return_losses in place of weights.
    cost: "sqeuclidean", "euclidean", "cosine" or "mahalanobis". may_stay: a day may also stay where it is.
    radii: solves for these as well (`sweep`). stress_marginal: the distribution over scenarios, if that is fixed, too.
    comm: each process has its own days. Options as for `solve`; used are clients, threads, policy, server, timeout,
    tolerance, max_iterations, transport (all, with stress_marginal).
    """
    if comm is not None:
        check_comm(comm)
    with others_told(comm, options):
        check_options("risk", options, ("epsilon", "radius"))
        check_on_failure(on_failure)
        inputs = dict(radius=radius, epsilon=epsilon, are_gains=are_gains, cost=cost, cvar_level=cvar_level,
                      may_stay=may_stay, is_part=comm is not None)
        for name, value, dimensions, float64 in (
                ("returns", returns, 2, False), ("scenarios", scenarios, 2, False), ("costs", costs, 2, False),
                ("covariance", covariance, 2, True), ("radii", radii, 1, True)):
            inputs[name] = None if value is None else as_numbers(name, value, (dimensions,), float64)
        for name, value in (("weights", weights), ("scenario_losses", scenario_losses),
                            ("return_losses", return_losses), ("a", a), ("stress_marginal", stress_marginal)):
            inputs[name] = None if value is None else as_masses(name, value, row=True)
        prepared = _core.PreparedRisk(inputs, options)
    with result_attached(dict, RiskResult):
        result = RiskResult(_core.risk(prepared, is_interruptible(), comm is not None))
    warn_of_sums(result.summary)
    report_failure(result.status, lambda: f"the search stopped without converging: {result.status}", on_failure, result)
    return result
