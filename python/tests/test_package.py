"""What the package consists of."""
import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fedsinkhorn

FOLDER = Path(fedsinkhorn.__file__).parent


def test_all_names_are_there():
    for name in fedsinkhorn.__all__:
        assert hasattr(fedsinkhorn, name)
    assert fedsinkhorn.__version__.count(".") == 2


def test_errors_can_be_pickled():
    import pickle

    for kind in (fedsinkhorn.InputError, fedsinkhorn.ClientLost, fedsinkhorn.ConvergenceError):
        assert str(pickle.loads(pickle.dumps(kind("why")))) == "why"


def test_stubs_name_everything():
    stub = FOLDER / "__init__.pyi"
    if not stub.exists():
        pytest.skip("this build has no stubs")
    tree = ast.parse(stub.read_text())
    defined = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    missing = set(fedsinkhorn.__all__) - set(defined) - {"__version__", "privacy"}
    assert not missing and (FOLDER / "py.typed").exists()
    for name in ("solve", "divergence", "risk", "predict", "plan_topology", "serve", "predicted_bytes"):
        arguments = defined[name].args
        named = [argument.arg for argument in arguments.args + arguments.kwonlyargs]
        expected = [parameter.name for parameter in inspect.signature(getattr(fedsinkhorn, name)).parameters.values()
                    if parameter.kind is not parameter.VAR_KEYWORD]
        assert named == expected, name


def test_optional_packages_are_not_imported():
    others = ("torch", "ot", "mpi4py", "tqdm", "sklearn")
    code = f"import sys, fedsinkhorn; print([name for name in {others} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_sources_suit_python_3_9():
    for source in FOLDER.glob("*.py"):
        ast.parse(source.read_text(), feature_version=(3, 9))
