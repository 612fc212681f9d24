"""The command line: `fedsinkhorn` where the package is installed by pip, or `python -m fedsinkhorn`."""
import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).parent / "bin" / "fedsinkhorn"
    if not program.exists():
        sys.exit("fedsinkhorn: this package has no program, as pip did not install it; build/fedsinkhorn is the same")
    os.execv(program, ["fedsinkhorn", *sys.argv[1:]])


if __name__ == "__main__":
    main()
