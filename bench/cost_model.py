#!/usr/bin/env python3
"""Compares what `fedsinkhorn predict` says with what solves take: seconds of an iteration, cell by cell.

  bench/cost_model.py [--program build/fedsinkhorn] [--transport threads|mpi] [--rows 2000,5000,10000] [--clients 1,2]
                      [--targets 1,16] [--kernel dense] [--precision float64] [--policy open] [--profile P] [--output F]

Calibrates first, unless a profile is given. Every cell is solved three times with plain iterations, the cells
interleaved; the median over all steps from check to check counts. Prints a table in Markdown; --output writes the cells
as CSV. Without MPI's launcher use --transport threads. Needs nothing but Python."""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOPOLOGIES = ["all-to-all", "star", "grid", "row-reduce"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/fedsinkhorn")
    parser.add_argument("--transport", default="threads", choices=["threads", "mpi"])
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    for name, default in (("rows", "2000,5000,10000"), ("clients", "1,2"), ("targets", "1,16")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--topologies", default=",".join(TOPOLOGIES))
    parser.add_argument("--kernel", default="dense")
    parser.add_argument("--precision", default="float64")
    parser.add_argument("--policy", default="open")
    parser.add_argument("--profile")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of iterations in a solve, about")
    parser.add_argument("--output")
    given = parser.parse_args()
    if given.output and not Path(given.output).absolute().parent.is_dir():
        parser.error(f"--output: there is no folder {Path(given.output).parent}")
    return given


def numbers(text):
    return [int(word) for word in text.split(",")]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):  # 3: stopped at the limit of iterations, as asked
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


class Cells:
    def __init__(self, given, folder):
        self.given = given
        self.folder = Path(folder)
        self.profile = given.profile

    def launch(self, clients, words):
        program = [self.given.program]
        if self.given.transport == "mpi":
            program = self.given.mpirun.split() + ["-n", str(clients)] + program
        return program + words

    def calibrate(self):
        if self.profile:
            return
        self.profile = str(self.folder / "profile.json")
        begin = time.time()
        words = ["calibrate", "--output", self.profile]
        if self.given.transport == "threads":
            words += ["--clients", str(max(numbers(self.given.clients)))]
        run(self.launch(max(numbers(self.given.clients)), words))
        print(f"calibrated in {time.time() - begin:.0f} s", file=sys.stderr)

    def predicted(self, rows, clients, targets, topology):
        words = ["predict", "--profile", self.profile, "--rows", rows, "--clients", clients, "--targets", targets]
        words += ["--topology", topology, "--kernel", self.given.kernel, "--precision", self.given.precision]
        words += ["--policy", self.given.policy, "--format", "json"]
        return json.loads(run([self.given.program] + [str(word) for word in words]))[0]

    def problem(self, rows, targets):
        folder = self.folder / f"problem-{rows}-{targets}"
        if not folder.exists():
            run([self.given.program, "generate", "--rows", str(rows), "--targets", str(targets), "--marginals", "random",
                 "--output", str(folder)])
        return folder

    def measured(self, rows, clients, targets, topology, predicted):
        """Steps of one solve, in seconds, and its peak memory."""
        problem = self.problem(rows, targets)
        result = self.folder / "result"
        iterations = max(12, min(400, int(self.given.seconds / max(predicted, 1e-9))))
        words = ["solve", "--points", problem / "X.npy", problem / "Y.npy", "--a", problem / "a.npy", "--b",
                 problem / "b.npy", "--epsilon", "0.2", "--method", "sinkhorn", "--tolerance", "0", "--max-iterations",
                 iterations, "--topology", topology, "--kernel", self.given.kernel, "--precision", self.given.precision,
                 "--policy", self.given.policy, "--quiet", "--output", result]
        if self.given.transport == "threads":
            words += ["--clients", clients]
        run(self.launch(clients, [str(word) for word in words]))
        with open(result / "trace.csv") as file:
            seconds = [float(row["seconds"]) for row in csv.DictReader(file)]
        summary = json.loads((result / "summary.json").read_text())
        steps = [after - before for before, after in zip(seconds, seconds[1:])]
        return steps[5:], summary


def main():
    given = arguments()
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    with tempfile.TemporaryDirectory() as folder:
        cells = Cells(given, folder)
        cells.calibrate()
        table = []
        for rows in numbers(given.rows):
            for targets in numbers(given.targets):
                for clients in numbers(given.clients):
                    for topology in given.topologies.split(","):
                        table.append((rows, targets, clients, topology, cells.predicted(rows, clients, targets, topology)))
        steps = [[] for _ in table]
        for repeat in range(given.repeats):
            for k, (rows, targets, clients, topology, predicted) in enumerate(table):
                print(f"\r{repeat + 1}/{given.repeats} {k + 1}/{len(table)} ", end="", file=sys.stderr)
                found, _ = cells.measured(rows, clients, targets, topology, predicted["seconds_per_iteration"])
                steps[k].append(statistics.median(found))
        print(file=sys.stderr)
    print("| n | N | c | topology | predicted ms | of it compute | measured ms | predicted / measured |\n"
          "|---|---|---|---|---|---|---|---|")
    within = 0
    out = []
    for (rows, targets, clients, topology, predicted), found in zip(table, steps):
        time_taken = statistics.median(found)
        ratio = predicted["seconds_per_iteration"] / time_taken
        is_within = 0.75 <= ratio <= 1.33
        within += is_within
        out.append([rows, targets, clients, topology, predicted["seconds_per_iteration"], predicted["compute_seconds"],
                    time_taken, ratio])
        print(f"| {rows:,} | {targets} | {clients} | {topology} | {1e3 * predicted['seconds_per_iteration']:.3f} | "
              f"{1e3 * predicted['compute_seconds']:.3f} | {1e3 * time_taken:.3f} | {ratio:.2f}{'' if is_within else ' **out**'} |")
    print(f"\n{within} of {len(table)} cells within 0.75 to 1.33 ({100 * within / len(table):.0f} %)")
    if given.output:
        with open(given.output, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["rows", "targets", "clients", "topology", "predicted", "compute", "measured", "ratio"])
            writer.writerows(out)


if __name__ == "__main__":
    main()
