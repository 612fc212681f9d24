"""What the package consists of."""
import ast
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fedsinkhorn

FOLDER = Path(fedsinkhorn.__file__).parent
CARRY_LIBRARIES = Path(__file__).resolve().parents[1] / "carry_libraries.cmake"


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


def test_the_binding_does_not_depend_on_the_layout_of_numpys_structures():
    """NumPy 2 has changed it, and pybind11/numpy.h before version 2.12 then reads wrong numbers."""
    sources = list((Path(__file__).resolve().parents[1] / "binding").glob("*.?pp"))
    assert len(sources) > 10
    assert [source.name for source in sources if "#include <pybind11/numpy.h>" in source.read_text()] == []


def check_licences(folder):
    """Every library in lib/ has a licence text in licenses/, and so has every package named there."""
    packages = dict(line.split() for line in (folder / "licenses" / "packages.txt").read_text().splitlines())
    for library in (folder / "lib").iterdir():
        assert library.name in packages
    for package in packages.values():
        assert (folder / "licenses" / f"{package}.txt").stat().st_size > 0, package
    return packages


def test_libraries_of_a_wheel_have_licences():
    if not (FOLDER / "lib").exists():
        pytest.skip("this package does not carry its libraries")
    packages = check_licences(FOLDER)
    assert {"libopenblas.a", "json.hpp", "pybind11.h", "highway.h"} <= set(packages)
    assert "Apache License" in (FOLDER / "licenses" / "LICENSE").read_text()


@pytest.mark.skipif(not shutil.which("dpkg") or not shutil.which("cmake"), reason="dpkg or CMake is not installed")
@pytest.mark.skipif((FOLDER / "lib").exists(), reason="these libraries are carried already")
def test_carried_libraries_get_licences(tmp_path):
    (module,) = FOLDER.glob("_core*.so")
    subprocess.run(["cmake", f"-DMODULE={module}", f"-DFOLDER={tmp_path}/lib", f"-DLICENCES={tmp_path}/licenses",
                    "-P", CARRY_LIBRARIES], check=True)
    packages = check_licences(tmp_path)
    assert any(library.startswith("libgmp.so") for library in packages)
    # GMP's text refers to the licence itself, which then has to be there as well.
    assert (tmp_path / "licenses" / "common-licenses" / "LGPL-3").exists()


def test_the_command_is_the_program(tmp_path):
    run = subprocess.run([sys.executable, "-m", "fedsinkhorn", "--version"], capture_output=True, text=True)
    if (FOLDER / "bin").exists():
        assert run.stdout.strip() == fedsinkhorn.__version__
    else:
        assert run.returncode == 1 and run.stderr.startswith("fedsinkhorn: this package has no program")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fedsinkhorn").write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    (tmp_path / "bin" / "fedsinkhorn").chmod(0o755)
    shutil.copy(FOLDER / "__main__.py", tmp_path)
    run = subprocess.run([sys.executable, tmp_path / "__main__.py", "solve", "--cost", "a b"], capture_output=True, text=True)
    assert run.stdout == "solve --cost a b\n" and run.returncode == 3
