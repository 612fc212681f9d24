#!/usr/bin/env python3
"""Holds two builds of the program against each other: do they give the same f and g, bit for bit?

  scripts/same_bits.py BEFORE AFTER [--cases 40] [--seed 1]

For changes that are not meant to change results. Problems are random: shapes, masses (zeros among them), forbidden
pairs, points or costs, several targets; every topology with 1, 3 and 7 clients, every method, precision, kernel and
instruction set in turn. Which cases there are depends on the seed alone. Needs nothing but Python itself."""
import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TOPOLOGIES = ["centralized", "all-to-all", "star", "grid", "row-reduce"]
METHODS = ["auto", "anderson", "overrelaxed", "sinkhorn"]
PRECISIONS = ["float64", "float64", "mixed", "float32"]
CLIENTS = [3, 1, 7]
SIMD = ["auto", "avx2", "baseline"]
ITERATIONS_SPENT = 3  # an exit status; there are results, too


def problem_flags(choose, number):
    rows, columns = (choose.choice([1, 5, 17, 40, 64, 131, 300]) for _ in range(2))
    return ["--rows", rows, "--columns", columns, "--kind", choose.choice(["uniform", "gaussian", "clusters"]),
            "--marginals", choose.choice(["uniform", "random", "decades"]), "--zero-mass", choose.choice([0, 0, 0.1]),
            "--targets", choose.choice([1, 1, 1, 3, 5]), "--forbidden", choose.choice([0, 0, 0.05]),
            "--write", "both", "--seed", number]


def solve_flags(choose, number, folder):
    topology = TOPOLOGIES[number % len(TOPOLOGIES)]
    precision = PRECISIONS[number // 3 % len(PRECISIONS)]
    kernel = choose.choice(["dense", "dense", "online"])
    costs = ["--points", folder / "X.npy", folder / "Y.npy"] if choose.random() < 0.3 else ["--cost", folder / "C.npy"]
    return [*costs, "--a", folder / "a.npy", "--b", folder / "b.npy", "--epsilon", choose.choice([0.3, 0.03, 0.003]),
            "--topology", topology, "--clients", 1 if topology == "centralized" else CLIENTS[number % len(CLIENTS)],
            "--method", METHODS[number // 2 % len(METHODS)], "--precision", precision, "--kernel", kernel,
            "--simd", SIMD[number // 5 % len(SIMD)], "--passes", choose.choice(["fused", "two"]),
            "--tolerance", 1e-9 if precision == "float64" else 1e-5, "--max-iterations", 300, "--quiet"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    compared, refused, differing = 0, 0, 0
    for case in range(options.cases):
        number = options.seed * 1000003 + case
        choose = random.Random(number)
        with tempfile.TemporaryDirectory(prefix="fedsinkhorn-bits-") as scratch:
            folder = Path(scratch)
            words = [str(word) for word in problem_flags(choose, number)]
            subprocess.run([options.before, "generate", *words, "--output", folder], check=True, capture_output=True)
            words = [str(word) for word in solve_flags(choose, number, folder)]
            runs = [subprocess.run([binary, "solve", *words, "--output", folder / name], capture_output=True, text=True)
                    for binary, name in ((options.before, "before"), (options.after, "after"))]
            same = runs[0].returncode == runs[1].returncode
            if runs[0].returncode in (0, ITERATIONS_SPENT):
                compared += 1
                for name in ("f.npy", "g.npy"):
                    same = same and (folder / "before" / name).read_bytes() == (folder / "after" / name).read_bytes()
            else:
                refused += 1
            if not same:
                differing += 1
                print(f"case {case} differs (exit {runs[0].returncode}, {runs[1].returncode}): {' '.join(words)}")
                print(runs[1].stderr, end="")
    print(f"{compared} results compared, {refused} refused by both, {differing} differ")
    return 1 if differing or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
