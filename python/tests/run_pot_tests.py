#!/usr/bin/env python3
"""Runs POT's own tests of its Sinkhorn solvers with the calls of fedsinkhorn.pot in place.

  PYTHONPATH=build/python python/tests/run_pot_tests.py folder

folder: test/ of the sources of the installed version of POT, which packages leave out. It has test_bregman.py and
conftest.py.
"""
import sys
from pathlib import Path

import ot
import pytest

import fedsinkhorn

LEFT_OUT = {
    "test_nan_warning": "expects a warning for reg=0, for which POT's loop fails; here it is an InputError",
}


def main():
    tests = Path(sys.argv[1]) / "test_bregman.py"
    print(f"POT {ot.__version__} with fedsinkhorn {fedsinkhorn.__version__} in {', '.join(fedsinkhorn.patch_pot())}")
    for name, reason in LEFT_OUT.items():
        print(f"left out: {name}: {reason}")
    chosen = " and ".join(f"not {name}" for name in LEFT_OUT)
    return pytest.main([str(tests), "-q", "-p", "no:cacheprovider", "-k", chosen])


if __name__ == "__main__":
    sys.exit(main())
