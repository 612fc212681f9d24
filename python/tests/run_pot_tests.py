#!/usr/bin/env python3
"""Runs POT's own tests of its Sinkhorn solvers and of domain adaptation with the calls of fedsinkhorn.pot in place.

  PYTHONPATH=build/python python/tests/run_pot_tests.py folder

folder: test/ of the sources of the installed version of POT, which packages leave out. It has test_bregman.py,
test_da.py and conftest.py.
"""
import sys
from pathlib import Path

import ot
import pytest

import fedsinkhorn


def main():
    tests = [str(Path(sys.argv[1]) / name) for name in ("test_bregman.py", "test_da.py")]
    print(f"POT {ot.__version__} with fedsinkhorn {fedsinkhorn.__version__} in {', '.join(fedsinkhorn.patch_pot())}")
    return pytest.main([*tests, "-q", "-p", "no:cacheprovider"])


if __name__ == "__main__":
    sys.exit(main())
