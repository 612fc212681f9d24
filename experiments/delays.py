#!/usr/bin/env python3
"""How old slices are when asynchronous clients use them: the paper's table of delays, on MPI.

  experiments/delays.py --binary build/fedsinkhorn --mpirun mpirun [--clients 2,4,8] [--n 10000] [--iterations 500]
                        [--runs 10] [--max-staleness 16]

One thread a client, points in the unit square, no tolerance: every run makes all iterations. Ages of u and v over all
ordered pairs of clients and all runs together. Prints a table in Markdown. Needs nothing but Python itself."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(command, statuses):
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")


def quantile(ages, share):
    left = share * sum(ages.values())
    for age in sorted(ages):
        left -= ages[age]
        if left <= 0:
            return age


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--binary", type=Path, required=True)
    options.add_argument("--mpirun", required=True)
    options.add_argument("--clients", default="2,4,8", type=lambda text: [int(c) for c in text.split(",")])
    options.add_argument("--n", type=int, default=10_000)
    options.add_argument("--iterations", type=int, default=500)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--max-staleness", type=int, default=16)
    options.add_argument("--bind-to", default="core")
    asked = options.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        run([asked.binary, "generate", "--rows", str(asked.n), "--marginals", "random", "--output", folder], [0])
        print(f"n = {asked.n}, T = {asked.iterations}, {asked.runs} runs, at most {asked.max_staleness} iterations old\n")
        print("| clients | max | min | mean | std | 99 % below | used | superseded | ms an iteration | all-to-all |\n"
              "|---|---|---|---|---|---|---|---|---|---|")
        for clients in asked.clients:
            ages, superseded, seconds = Counter(), 0, {"async": [], "all-to-all": []}
            for _ in range(asked.runs):
                for topology in seconds:
                    out = Path(folder) / "out"
                    special = ["--max-staleness", str(asked.max_staleness)] if topology == "async" else []
                    run([asked.mpirun, "--bind-to", asked.bind_to, "-n", str(clients), asked.binary, "solve",
                         "--points", f"{folder}/X.npy", f"{folder}/Y.npy", "--a", f"{folder}/a.npy",
                         "--b", f"{folder}/b.npy", "--epsilon", "0.05", "--topology", topology,
                         "--method", "sinkhorn", "--tolerance", "0", "--max-iterations", str(asked.iterations),
                         "--threads", "1", "--quiet", "--output", out, *special], [3])
                    summary = json.loads((out / "summary.json").read_text())
                    seconds[topology].append(summary["solve_seconds"] / summary["iterations"])
                    if topology == "async":
                        for kind in "uv":
                            ages.update({int(a): n for a, n in summary["delays"][kind]["histogram"].items()})
                            superseded += summary["delays"][kind]["superseded"]
            used = sum(ages.values())
            mean = sum(age * n for age, n in ages.items()) / used
            deviation = math.sqrt(sum((age - mean) ** 2 * n for age, n in ages.items()) / used)
            middle = {name: 1e3 * sorted(times)[len(times) // 2] for name, times in seconds.items()}
            print(f"| {clients} | {max(ages)} | {min(ages)} | {mean:.2f} | {deviation:.2f} | {quantile(ages, 0.99)} | "
                  f"{used} | {superseded} | {middle['async']:.2f} | {middle['all-to-all']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
