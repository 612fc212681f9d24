"""The Sinkhorn divergence, and its gradients."""
from . import _core
from ._solve import check_callback, check_options, documented, inputs_of, is_interruptible, with_hints
from .result import check_on_failure, report_failure


class Divergence:
    """S = V(x, y) - V(x, x) / 2 - V(y, y) / 2 with V = min <P, C> + epsilon KL(P | a x b). A number: float(divergence).

    linear: the same combination of only <P, C>, which POT calls the divergence.
    """

    def __init__(self, solved):
        self._solved = solved

    @property
    def value(self):
        return self._solved.value

    @property
    def linear(self):
        return self._solved.linear

    @property
    def status(self):
        return self._solved.status

    @property
    def converged(self):
        return self._solved.status == "converged"

    @property
    def iterations(self):
        """Of the three solves: x and y, x and x, y and y."""
        return self._solved.iterations

    def gradients(self):
        """(dS/dX, dS/dY)"""
        return self._solved.point_gradients()

    def mass_gradients(self):
        """(dS/da, dS/db), each up to a constant: masses keep their totals. Each sums to 0. With normalize=True totals
        may change, and these are the derivatives with respect to the masses as given."""
        return self._solved.mass_gradients()

    def __float__(self):
        return self.value

    def __repr__(self):
        return f"<fedsinkhorn.Divergence: {self.value:.6g}, {self.status}>"


@with_hints("(X, Y, a, b)")
def divergence(X, Y, a=None, b=None, *, epsilon, metric="sqeuclidean", mass_tolerance=None, callback=None,
               on_failure="warn", **options):
    check_options("divergence", options, ("epsilon", "metric"))
    check_on_failure(on_failure)
    inputs = inputs_of((X, Y), a, b, epsilon, metric, options, None, mass_tolerance)
    check_callback(callback)
    result = Divergence(_core.divergence(_core.Prepared(inputs, options), callback, is_interruptible()))
    report_failure(result.status, lambda: f"the divergence is of solves that did not converge: {result.status}",
                   on_failure, result)
    return result


documented(divergence, """The Sinkhorn divergence of two weighted point clouds. Three solves; no plan is formed.

S = V(x, y) - V(x, x) / 2 - V(y, y) / 2  with  V = min <P, C> + epsilon KL(P | a x b)

Parameters
----------
X, Y : points, n x d and m x d
a, b : masses; None means uniform
epsilon, metric, mass_tolerance, callback, on_failure : as for `solve`, for each of the three solves

Options
-------
""", """
Returns
-------
Divergence
""")
