"""SinkhornTransport, alone and in scikit-learn."""
import warnings

import numpy as np
import pytest

import fedsinkhorn
from fedsinkhorn import SinkhornTransport


def test_points_go_where_the_plan_sends_them(clouds, rng):
    X, Y = clouds
    transport = SinkhornTransport(epsilon=0.01, options={"tolerance": 1e-12})
    moved = transport.fit_transform(X, Y)
    plan = transport.result_.plan.dense()
    np.testing.assert_allclose(moved, plan @ Y / plan.sum(1, keepdims=True), atol=1e-9)
    assert transport.n_features_in_ == 2
    assert transport.transform(rng.random((3, 2))).shape == (3, 2)


def test_masses(clouds, rng):
    X, Y = clouds
    a, b = rng.random(40), rng.random(30)
    transport = SinkhornTransport(0.01).fit(X, Y, sample_weight=a / a.sum(), target_weight=b / b.sum())
    np.testing.assert_allclose(transport.result_.plan.dense().sum(0), b / b.sum(), atol=1e-8)


def test_what_it_refuses(clouds):
    with pytest.raises(fedsinkhorn.InputError, match="not fitted"):
        SinkhornTransport().transform(clouds[0])
    with pytest.raises(fedsinkhorn.InputError, match="^y: "):
        SinkhornTransport().fit(clouds[0])
    with pytest.raises(TypeError):
        SinkhornTransport(options={"nonsense": 1}).fit(*clouds)
    X, Y = clouds
    fitted = SinkhornTransport(0.05).fit(X, Y)
    for wrong, call in (("y", lambda: SinkhornTransport().fit(X, Y[:, :1])),
                        ("sample_weight", lambda: SinkhornTransport().fit(X, Y, sample_weight=np.ones(3))),
                        ("target_weight", lambda: SinkhornTransport().fit(X, Y, target_weight=-np.ones(30))),
                        ("target_weight", lambda: SinkhornTransport().fit(X, Y, target_weight=np.ones((30, 2)))),
                        ("X", lambda: fitted.transform(X[:, :1])),
                        ("X", lambda: fitted.transform(np.full((2, 2), np.nan)))):
        with pytest.raises(fedsinkhorn.InputError, match=f"^{wrong}: "):
            call()


def test_other_arguments_of_solve(clouds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SinkhornTransport(0.001, options={"max_iterations": 1, "on_failure": "ignore"}).fit(*clouds)


def test_scikit_learn_knows_it(clouds):
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    transport = SinkhornTransport(epsilon=0.03, metric="euclidean")
    with pytest.raises(pytest.importorskip("sklearn.exceptions").NotFittedError):
        transport.transform(clouds[0])
    other = base.clone(transport).set_params(epsilon=0.05)
    assert other.get_params() == {"epsilon": 0.05, "metric": "euclidean", "options": None}
    X, Y = clouds
    moved = make_pipeline(FunctionTransformer(), transport).fit_transform(X, Y)
    assert moved.shape == X.shape
