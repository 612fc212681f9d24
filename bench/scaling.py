#!/usr/bin/env python3
"""How an iteration speeds up from 1 client to 16, one thread each, ours beside the paper's stack.

  bench/scaling.py --binary build/fedsinkhorn --mpirun mpirun [--bench build/fedsinkhorn-bench] [--python python3]
                   [--clients 2,4,8,16] [--n 10000]

Contenders take turns, round after round, until --rounds or --seconds are over. The paper's stack (see
peers/paper_stack.py) runs under mpirun where --python has mpi4py, and by gloo where it has PyTorch alone. Without
--mpirun our clients are threads. With --bench, every round also measures what as many processes can read of memory at
the same time, each its share of the kernel, and an iteration's memory traffic is given as a part of that. Last come
the goals, PASS or MISSED. For a machine without Open MPI see bundle.sh. Needs nothing but Python itself."""
import argparse
import array
import csv
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EPSILON = 0.05
BRIEF = 2  # iterations of a run that does little but build kernels and evaluate the result
PAPER_SCRIPT = Path(__file__).resolve().parent / "peers" / "paper_stack.py"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launch(command, statuses=(0,)):
    command = [str(word) for word in command]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        raise SystemExit(f"scaling: {' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def read_vector(path):
    """A .npy file of float64."""
    data = Path(path).read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return array.array("d", data[start:])


def difference(x, y):
    """The largest, a constant aside: potentials have one to spare."""
    offset = statistics.fmean(x) - statistics.fmean(y)
    worst = max(abs(p - q - offset) for p, q in zip(x, y))
    return worst if len(x) == len(y) and not math.isnan(offset) else math.inf


class Reading:
    """What so many processes, one thread each, read of memory at the same time."""
    SECONDS = 1.0
    READY = 3.0  # seconds to start and to fill the memory; doubled when one of them was not ready in time

    def __init__(self, clients):
        self.clients, self.ready = clients, Reading.READY
        self.name = "read of K"
        self.bandwidth = []  # bytes a second, all of them together

    def measure(self, machine):
        options = machine.options
        while self.ready < 60:
            start = time.time() + self.ready
            reader = [options.bench, "--reading", f"{8 * options.n ** 2 // self.clients},{start:.6f},{self.SECONDS}"]
            if options.mpirun and self.clients > 1:
                children = [[*machine.mpirun, self.clients, *reader]]  # bound to cores as clients are
            else:
                children = [reader] * self.clients
            children = [subprocess.Popen([str(word) for word in child], env=ENVIRONMENT, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True) for child in children]
            answers = [child.communicate() for child in children]
            rates = [float(word) for out, _ in answers for word in out.split()]
            if len(rates) == self.clients:
                self.bandwidth.append(sum(rates))
                return
            self.ready *= 2
        raise SystemExit(f"scaling: {options.bench} --reading failed\n{''.join(err for _, err in answers)}")

    def verify(self, machine, reference):
        pass


class Machine:
    """Where everything runs, and the problem on its disk."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        launch([options.binary, "generate", "--kind", "embedding", "--rows", options.n, "--dimension", 64,
                "--shared-support", "--marginals", "random", "--write", "points", "--output", folder])
        # A budget used up is a status of its own, for which mpirun would take two seconds to end the job by force.
        self.mpirun = [options.mpirun, "-q", "--oversubscribe", "--bind-to", options.bind, "--mca",
                       "orte_abort_on_non_zero_status", 0, "-n"]
        self.paper = self.find_paper()

    def find_paper(self):
        """How the paper's processes talk, or None."""
        python = self.options.python
        if not python:
            return None
        answer = json.loads(launch([python, "-B", PAPER_SCRIPT, "--versions"]))
        missing = answer.get("missing")
        if missing in (None, "mpi4py"):
            return "mpi4py" if missing is None and self.options.mpirun else "gloo"
        print(f"the paper's stack: {python} has no {missing}; ours alone")
        return None


def paper_grid(clients):
    """The shape the paper's stack has, the longer side across. Ours would be the other way round, and with two clients
    that is row-reduce."""
    high = max(d for d in range(1, clients + 1) if clients % d == 0 and d * d <= clients)
    return f"{high}x{clients // high}"


class Ours:
    def __init__(self, topology, clients, passes="fused", precision="float64"):
        self.topology, self.clients, self.passes, self.precision = topology, clients, passes, precision
        detail = passes if topology == "centralized" else "" if precision == "float64" else precision
        self.grid = paper_grid(clients) if topology == "grid" else None
        detail = detail or self.grid
        self.name = f"{topology}, {detail}" if detail else topology
        # Bytes of the kernel read in an iteration. Row-reduce does both products in one read, as one client does
        # unless told otherwise; a grid as the paper lays it has several columns, which takes two.
        reads = 1 if topology == "row-reduce" or (topology == "centralized" and passes == "fused") else 2
        self.bytes_per_entry = reads * (8 if precision == "float64" else 4)
        # A star's server does all the work however many clients there are. The others get faster.
        self.iterations = 30 if topology == "star" else 20 * clients
        self.seconds, self.compute, self.communication = [], [], []
        self.brief = None

    def solve(self, machine, iterations):
        """Writes f and g to the folder 'ours'; returns the rows of the trace, and the clients of the summary."""
        folder, output = machine.folder, machine.folder / "ours"
        command = [machine.options.binary, "solve", "--points", folder / "X.npy", "--a", folder / "a.npy", "--b",
                   folder / "b.npy", "--epsilon", EPSILON, "--method", "sinkhorn", "--tolerance", 0,
                   "--check-every", 1, "--max-iterations", iterations, "--threads", 1, "--topology", self.topology,
                   "--passes", self.passes, "--precision", self.precision, "--backend", "cpu", "--output", output,
                   "--quiet"]
        if self.grid:
            command += ["--grid", self.grid]
        if machine.options.mpirun and self.clients > 1:
            command = [*machine.mpirun, self.clients, *command]
        else:
            command += ["--clients", self.clients]
        launch(command, statuses=(0, 3))
        with open(output / "trace.csv", encoding="ascii") as file:
            trace = list(csv.DictReader(file))
        if len(trace) != iterations:
            raise SystemExit(f"scaling: {self.name} did {len(trace)} of {iterations} iterations")
        return trace, json.loads((output / "summary.json").read_text())["clients"]

    def measure(self, machine):
        if self.brief is None:
            self.brief = self.solve(machine, BRIEF)[1]
        trace, clients = self.solve(machine, self.iterations)
        self.errors = [float(row["error_a"]) for row in trace[:7]]
        # The first iteration may be one in logs, and kernels are built in the first two.
        self.seconds.append((float(trace[-1]["seconds"]) - float(trace[1]["seconds"])) / (len(trace) - 2))
        # The program counts a whole solve. Around the rounds clients are taken to wait for each other as much as in a
        # brief run, which does little but build kernels and evaluate the result.
        rounds = self.seconds[-1] * (len(trace) - 2)
        busiest = max(range(self.clients), key=lambda k: clients[k]["compute_seconds"])
        (compute, waiting), (around_compute, around_waiting) = (
            (of[busiest]["compute_seconds"], of[busiest]["communication_seconds"]) for of in (clients, self.brief))
        rest = max(0.0, compute + waiting - rounds) * around_waiting / (around_compute + around_waiting)
        communication = min(max(waiting - rest, 0.0), rounds)
        self.compute.append((rounds - communication) / (len(trace) - 2))
        self.communication.append(communication / (len(trace) - 2))

    def verify(self, machine, reference):
        """By the errors of the first iterations, which every trace has."""
        tolerance = 1e-9 if self.precision == "float64" else 1e-4
        for mine, other in zip(self.errors, reference.errors):
            if abs(mine - other) > tolerance * max(1e-3, abs(other)):
                raise SystemExit(f"scaling: {self.name}, {self.clients} clients: error {mine}, one client has {other}")


class Paper:
    def __init__(self, ours):
        self.topology, self.clients, self.iterations = ours.topology, ours.clients, ours.iterations
        self.bytes_per_entry = 2 * 8
        self.name = f"paper's {self.topology}"
        self.seconds, self.compute, self.communication = [], [], []
        self.talk = None

    def measure(self, machine):
        save = machine.folder / "paper"
        save.mkdir(exist_ok=True)
        command = [machine.options.python, "-B", PAPER_SCRIPT, "--problem", machine.folder, "--topology", self.topology,
                   "--epsilon", EPSILON, "--iterations", self.iterations, "--save", save]
        if machine.paper == "mpi4py":
            command = [*machine.mpirun, self.clients, *command]
        else:
            command += ["--ranks", self.clients]
        answer = json.loads(launch(command))
        self.talk = answer["talk"]
        self.seconds.append(answer["seconds"])
        self.compute.append(answer["compute"])
        self.communication.append(answer["communication"])

    def verify(self, machine, reference):
        """By the potentials: ours of the same topology ran just before, for as many iterations."""
        for name in "fg":
            worst = difference(*(read_vector(machine.folder / who / f"{name}.npy") for who in ("paper", "ours")))
            if not worst <= 1e-9:
                raise SystemExit(f"scaling: {self.name}, {self.clients} clients: {name} differs from ours by {worst}")


def contenders(options, with_paper):
    everyone = [Ours("centralized", 1, "two"), Ours("centralized", 1, "fused")]
    if options.bench:
        everyone.append(Reading(1))
    for clients in options.clients:
        if options.bench:
            everyone.append(Reading(clients))
        for topology in ("all-to-all", "star", "grid", "row-reduce"):
            ours = Ours(topology, clients)
            everyone.append(ours)
            if with_paper and topology != "row-reduce" and options.n % clients == 0:
                everyone.append(Paper(ours))
        everyone.append(Ours("row-reduce", clients, precision="mixed"))
    return everyone


def times_faster(those, these):
    """These than those, in each round both took part in."""
    return [a / b for a, b in zip(those.seconds, these.seconds)] if those else []


def text(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})" if values else ""


def counterpart(one, everyone):
    """Whom of the paper's it is held against. Row-reduce is what we offer instead of all-to-all."""
    topology = "all-to-all" if one.topology == "row-reduce" else one.topology
    same = (other for other in everyone if isinstance(other, Paper) and isinstance(one, Ours)
            and (other.clients, other.topology) == (one.clients, topology))
    return next(same, None)


def shares_of_bandwidth(one, everyone, n):
    """What an iteration moves in its time, over what as many processes can read. A star's server is one process."""
    readers = 1 if one.topology == "star" else one.clients
    reading = next((other for other in everyone if isinstance(other, Reading) and other.clients == readers), None)
    pairs = zip(one.seconds, reading.bandwidth) if reading else []
    return [one.bytes_per_entry * n ** 2 / seconds / bandwidth for seconds, bandwidth in pairs]


def print_goals(everyone):
    """A goal that could not be measured is not listed."""
    wanted = {"all-to-all": 1.0, "star": 1.0, "grid": 1.0, "row-reduce": 1.7}
    print()
    for one in everyone:
        values = times_faster(counterpart(one, everyone), one) if isinstance(one, Ours) else []
        if values and one.precision == "float64":
            measured = statistics.median(values)
            verdict = "PASS" if measured >= wanted[one.topology] else "MISSED"
            print(f"{one.clients:>2} clients: {one.name}, times faster than the "
                  f"{counterpart(one, everyone).name}: {measured:.2f} >= {wanted[one.topology]}  {verdict}")


def print_table(everyone, n):
    rows = [["clients", "", "an iteration", "least", "most", "x one, two passes", "x one, fused", "x paper's",
             "of read bandwidth", "computing", "communicating"]]
    for one in everyone:
        if isinstance(one, Reading) and one.bandwidth:
            rates = [rate / 1e9 for rate in one.bandwidth]
            rows.append([str(one.clients), one.name, *(f"{1e-6 * 8 * n ** 2 / f(rates):.2f} ms" for f in
                                                       (statistics.median, max, min)),
                         "", "", "", f"{statistics.median(rates):.1f} GB/s", "", ""])
        if isinstance(one, Reading) or not one.seconds:
            continue
        compute, communication = statistics.median(one.compute), statistics.median(one.communication)
        share = communication / max(compute + communication, 1e-12)
        rows.append([str(one.clients), one.name,
                     *(f"{1e3 * f(one.seconds):.2f} ms" for f in (statistics.median, min, max)),
                     text(times_faster(everyone[0], one)), text(times_faster(everyone[1], one)),
                     text(times_faster(counterpart(one, everyone), one)),
                     text(shares_of_bandwidth(one, everyone, n)), f"{1e3 * compute:.2f} ms", f"{1e3 * communication:.2f} ms ({100 * share:.0f} %)"])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if k == 1 else cell.rjust(width)
                        for k, (cell, width) in enumerate(zip(row, widths))).rstrip())


def describe_machine():
    try:
        wanted = ("Model name", "CPU(s)", "Thread(s) per core", "Core(s) per socket", "Socket(s)", "L2 cache",
                  "L3 cache", "NUMA node(s)")
        lines = [line.split(":", 1) for line in launch(["lscpu"]).splitlines() if ":" in line]
        print("; ".join(f"{name.strip()} {value.strip()}" for name, value in lines if name.strip() in wanted))
    except FileNotFoundError:
        pass
    quota = Path("/sys/fs/cgroup/cpu.max")
    text = quota.read_text().strip() if quota.exists() else "?"
    print(f"{len(os.sched_getaffinity(0))} processors to run on; quota {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="fedsinkhorn")
    parser.add_argument("--bench", help="fedsinkhorn-bench, to measure what memory gives; without it that is left out")
    parser.add_argument("--mpirun", help="without it clients are threads")
    parser.add_argument("--python", help="for the paper's stack; without it, ours alone")
    parser.add_argument("--clients", type=lambda text: [int(word) for word in text.split(",")], default=[2, 4, 8, 16])
    parser.add_argument("--n", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=math.inf, help="start nothing after that")
    parser.add_argument("--bind", choices=["core", "hwthread", "none"], default="none",
                        help="of our processes and of the paper's under mpirun; gloo's are never bound")
    parser.add_argument("--json", type=Path, help="all timings")
    options = parser.parse_args()
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.parent}")
    start = time.monotonic()
    describe_machine()
    print(launch([options.binary, "info"]).strip())
    with tempfile.TemporaryDirectory(prefix="fedsinkhorn-scaling-") as folder:
        machine = Machine(options, Path(folder))
        everyone = contenders(options, machine.paper is not None)
        for turn in range(options.rounds):
            for one in everyone:
                if time.monotonic() - start > options.seconds:
                    break
                one.measure(machine)
                if turn == 0:
                    one.verify(machine, everyone[0])
            # Whoever watches, or ends this early, has the last complete table.
            print(f"\nn = {options.n}, 1 thread a client, round {turn + 1} of {options.rounds}, "
                  f"{time.monotonic() - start:.0f} s")
            print_table(everyone, options.n)
            sys.stdout.flush()
    talks = {one.talk for one in everyone if isinstance(one, Paper) and one.talk}
    print(f"\nours: {'MPI, bound to ' + options.bind if options.mpirun else 'threads'}; the paper's: "
          f"{', '.join(sorted(talks)) or 'not run'}")
    print("x: times faster, median over the rounds (least-most); computing and communicating: of the busiest client")
    print("of read bandwidth: kernel bytes an iteration reads (row-reduce and one fused client once, others twice) in its "
          "time, over what as many processes can read")
    print_goals(everyone)
    if options.json:
        kept = ("name", "clients", "iterations", "seconds", "compute", "communication", "bandwidth")
        options.json.write_text(json.dumps([{name: value for name, value in vars(one).items() if name in kept}
                                            for one in everyone], indent=1))


main()
