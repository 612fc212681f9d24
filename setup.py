"""pip install . --no-build-isolation: CMake builds the package and the program, this puts both where pip wants them.

FEDSINKHORN_CMAKE_ARGS: more arguments for CMake. FEDSINKHORN_BUILD_FOLDER: a build folder to keep and use again.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
VERSION = re.search(r"project\(fedsinkhorn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        folder = Path(os.environ.get("FEDSINKHORN_BUILD_FOLDER", self.build_temp)).resolve()
        settings = ["-DCMAKE_BUILD_TYPE=Release", "-DFEDSINKHORN_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}",
                    "-DFEDSINKHORN_TESTS=OFF", "-DFEDSINKHORN_BENCH=OFF", "-DCMAKE_UNITY_BUILD=ON",
                    "-DCMAKE_UNITY_BUILD_BATCH_SIZE=12", *shlex.split(os.environ.get("FEDSINKHORN_CMAKE_ARGS", ""))]
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, *settings], check=True)
        targets = ["fedsinkhorn-python-package", "fedsinkhorn-cli"]
        subprocess.run(["cmake", "--build", folder, "--target", *targets, "--parallel"], check=True)
        target = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        shutil.copytree(folder / "python" / "fedsinkhorn", target, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__"))
        (target / "bin").mkdir(exist_ok=True)
        shutil.copy2(folder / "fedsinkhorn", target / "bin")


setup(
    version=VERSION,
    # The sources lie in the build folder by then; setuptools shall not look for others.
    packages=[],
    py_modules=[],
    ext_modules=[Extension("fedsinkhorn._core", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
