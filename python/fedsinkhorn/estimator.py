"""An estimator with scikit-learn's interface. scikit-learn itself is used if it is installed."""
from ._arrays import as_masses, errors_named
from ._core import InputError
from ._solve import solve

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """Of scikit-learn."""

    class BaseEstimator:
        """Parameters by name, as far as this estimator needs it."""

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._names}

        def set_params(self, **parameters):
            for name, value in parameters.items():
                if name not in self._names:
                    raise ValueError(f"no parameter {name!r}")
                setattr(self, name, value)
            return self

    class TransformerMixin:
        def fit_transform(self, X, y=None, **parameters):
            return self.fit(X, y, **parameters).transform(X)


class _NotFitted(InputError, NotFittedError):
    """Both."""


class SinkhornTransport(TransformerMixin, BaseEstimator):
    """Moves points of one cloud onto another, each to the mean of where the entropic plan sends it.

    fit(X, Y) solves for the plan from X to Y; transform(X) maps points: those of the fit as the plan does, new ones by
    the same formula, sum_j w_j Y_j with w_j proportional to exp((g_j - c(x, Y_j)) / epsilon).

    epsilon, metric: as for `solve`. options: a dictionary of its other arguments, such as {"kernel": "online"}.
    After fit: result_ (a Result), Y_, n_features_in_.
    """

    _names = ("epsilon", "metric", "options")

    def __init__(self, epsilon=0.1, metric="sqeuclidean", options=None):
        self.epsilon = epsilon
        self.metric = metric
        self.options = options

    def fit(self, X, y=None, sample_weight=None, target_weight=None):
        """y: the points Y of the other cloud. The weights are the masses a and b."""
        if y is None:
            raise InputError("y: was not given; give the points that X is to be moved onto")
        with errors_named({"a": "sample_weight", "b": "target_weight", "Y": "y"}):
            if target_weight is not None:
                target_weight = as_masses("target_weight", target_weight)
            self.result_ = solve((X, y), sample_weight, target_weight, epsilon=self.epsilon, metric=self.metric,
                                 **dict(self.options or {}))
        self.Y_ = self.result_._inputs["Y"]
        self.n_features_in_ = self.Y_.shape[1]
        return self

    def transform(self, X):
        if not hasattr(self, "result_"):
            raise _NotFitted("X: this SinkhornTransport is not fitted yet; call fit")
        return self.result_.extend(X).barycentric(self.Y_)
