"""The account of Gaussian noise, as `fedsinkhorn privacy account` and `privacy calibrate` give it."""
from . import _core


def account(sigma, sensitivity, releases=1, *, delta):
    """What releases with Gaussian noise guarantee: a dictionary with `epsilon` (exact, at this delta), bounds by
    Renyi's divergences (`epsilon_rdp`, `epsilon_rdp_paper`) and `mu`.

    sigma: standard deviation of the noise in every coordinate. sensitivity: the largest L2 distance between releases of
    neighbouring data sets. releases: how many. Each may be a list, with one entry for each kind of release.
    """
    return _core.account(sigma, sensitivity, releases, delta)


def calibrate(epsilon, delta, sensitivity, releases=1):
    """The least noise for which that many equal releases cost epsilon or less: a dictionary with `sigma`, and what it
    is accounted for."""
    return _core.calibrate(epsilon, delta, sensitivity, releases)
