#!/usr/bin/env python3
"""Random kills and stops of runs under mpirun, each reproduced by its seed.

    scripts/chaos.py [--program build/fedsinkhorn] [--runs 60] [--seed 1] [--keep]

Each run solves a small or medium problem on 3 to 5 ranks and sends one signal (KILL, STOP, TERM, INT, USR1) to a rank
or to mpirun at a random moment: during the start, the rounds, a rebuild of the kernel, the end, or while results are
written. Whatever happens, it must hold that

  - everything ends within the time limit and 5 s, and what mpirun itself needs;
  - the output folder has a complete set, the one from before or a new one, or nothing at all; nothing hidden is left
    unless a process was killed (SIGKILL, also by mpirun) while it wrote;
  - the exit status is a documented one;
  - the program says at most one line.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TIMEOUT = 5  # seconds, --timeout of every run
PROMISE = TIMEOUT + 5  # by then the ranks are gone
FOR_MPIRUN = 8  # it waits two seconds before SIGTERM, two before SIGKILL, and tidies up
FOR_STARTING = 20  # ranks that come up on a busy machine

# Open MPI does not start more processes than there are cores, nor anything as root, unless told to.
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}

# n, m, epsilon; the smallest epsilon takes levels and rebuilds, the largest problem takes a while to write.
PROBLEMS = [("small", 40, 30, 0.05), ("rebuilds", 120, 100, 0.0005), ("medium", 1500, 1200, 0.01)]
TOPOLOGIES = ["all-to-all", "star", "grid", "row-reduce", "async"]
STAGES = ["start", "rounds", "rebuild", "end", "writing"]
SIGNALS = ["KILL", "STOP", "TERM", "INT", "USR1"]


class Failure(Exception):
    pass


def children_of(parent):
    """Process numbers by rank, as far as the ranks are there."""
    ranks = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            if int(stat[stat.rindex(")") + 2 :].split()[1]) != parent:
                continue
            variables = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue  # gone meanwhile
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                ranks[int(variable.split(b"=")[1])] = int(entry.name)
    return ranks


def is_alive(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def shape_of(path):
    """The shape in a .npy file whose size fits it."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise Failure(f"{path.name} is no .npy file")
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length].decode()
    shape = tuple(int(x) for x in re.search(r"'shape': \(([^)]*)\)", header).group(1).split(",") if x.strip())
    if len(data) != 10 + length + 8 * math.prod(shape):
        raise Failure(f"{path.name} is cut short")
    return shape


def check_set(folder, before, n, m, writer_may_be_killed):
    """Nothing, the set from before, or a complete new one."""
    if not folder.exists():
        return "nothing"
    names = sorted(entry.name for entry in folder.iterdir())
    hidden = [name for name in names if name.startswith(".")]
    if hidden and not writer_may_be_killed:
        raise Failure(f"left behind: {hidden}")
    names = [name for name in names if not name.startswith(".")]
    if not names:
        return "nothing"
    found = {name: (folder / name).read_bytes() for name in names}
    if found == before:
        return "the old set"
    for name in ("f.npy", "g.npy", "trace.csv", "summary.json"):
        if name not in found:
            raise Failure(f"half a set: {names}")
        if before.get(name) == found[name] and name != "trace.csv":
            raise Failure(f"{name} is the old one in a new set")
    summary = json.loads(found["summary.json"])
    if shape_of(folder / "f.npy") != (n,) or shape_of(folder / "g.npy") != (m,):
        raise Failure("f or g has another shape than the problem")
    if "plan.npy" in found and shape_of(folder / "plan.npy") != (n, m):
        raise Failure("the plan has another shape than the problem")
    return f"a new set, {summary['status']}"


class Run:
    def __init__(self, program, seed, folder):
        self.draw = random.Random(seed)
        self.seed = seed
        self.program = program
        self.folder = folder
        draw = self.draw
        self.stage = draw.choice(STAGES)
        self.signal = draw.choice(SIGNALS)
        self.ranks = draw.randint(3, 5)
        # mpirun that is stopped stays so: nobody is left to end it.
        aims = ["rank"] * 3 + ([] if self.signal == "STOP" else ["mpirun"])
        self.aim = draw.choice(aims)
        self.victim = draw.randrange(self.ranks)
        self.topology = draw.choice(TOPOLOGIES)
        name = "rebuilds" if self.stage == "rebuild" else "medium" if self.stage == "writing" else None
        self.name, self.n, self.m, self.epsilon = draw.choice([p for p in PROBLEMS if name in (None, p[0])])
        self.has_old_set = draw.random() < 0.5
        self.plan = self.stage == "writing" or draw.random() < 0.3
        # Seconds after the stage was seen, or after the start.
        self.delay = draw.uniform(0, 0.6) if self.stage == "start" else draw.uniform(0, 0.3)

    def __str__(self):
        aim = "mpirun" if self.aim == "mpirun" else f"rank {self.victim} of {self.ranks}"
        return (
            f"seed {self.seed}: {self.signal} to {aim}, {self.stage} + {self.delay:.2f} s, {self.topology}, "
            f"{self.name} {self.n} x {self.m}, {'old set, ' if self.has_old_set else ''}{'plan' if self.plan else 'no plan'}"
        )

    def command(self, output, endless):
        words = [
            str(self.program), "solve", "--cost", f"{self.name}/C.npy", "--a", f"{self.name}/a.npy", "--b",
            f"{self.name}/b.npy", "--epsilon", str(self.epsilon), "--threads", "1", "--timeout", str(TIMEOUT),
            "--check-every", "10", "--output", output,
        ]  # fmt: skip
        if endless:
            words += ["--tolerance", "0", "--max-iterations", "1000000000"]
        else:
            words += ["--max-iterations", "2000"]
        if self.plan:
            words += ["--plan"]
        return words

    def make_old_set(self):
        """By one client, stopped early: other numbers than any run here."""
        output = self.folder / "out"
        shutil.rmtree(output, ignore_errors=True)
        if not self.has_old_set:
            return {}
        words = self.command("out", endless=False)
        words[words.index("--max-iterations") + 1] = "3"
        run = subprocess.run(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        if run.returncode != 3:
            raise Failure(f"the old set: status {run.returncode}: {run.stderr.decode()}")
        return {entry.name: entry.read_bytes() for entry in output.iterdir()}

    def wait_for_stage(self, mpirun, said):
        """When it is time to send the signal. Ends with the run, if that comes first."""

        def wait_until(condition):
            end = time.monotonic() + FOR_STARTING
            while mpirun.poll() is None and time.monotonic() < end and not condition():
                time.sleep(0.002)

        if self.stage == "start":
            wait_until(lambda: len(children_of(mpirun.pid)) == self.ranks)
        elif self.stage == "writing":
            # Results are staged in a hidden folder; the one at the start, which proves that it can be made, has none.
            def is_writing():
                results = ("f", "g", "plan", "trace", "summary")
                try:
                    files = list((self.folder / "out").glob(".fedsinkhorn-*/*"))
                except FileNotFoundError:  # it was moved or removed meanwhile
                    return False
                return any(file.name.lstrip(".").startswith(results) for file in files)

            wait_until(is_writing)
            self.delay = 0
        else:
            wait_until(lambda: b"iteration" in Path(said).read_bytes())
        time.sleep(self.delay)

    def perform(self):
        before = self.make_old_set()
        endless = self.stage in ("rounds", "rebuild")
        words = ["mpirun", "-n", str(self.ranks)] + self.command("out", endless)
        words += ["--topology", self.topology]
        settings = dict(SETTINGS)
        if self.aim == "mpirun":
            # The second that ranks have to write results may be too short on a busy machine.
            settings["OMPI_MCA_odls_base_sigkill_timeout"] = "2"
        log = self.folder / "log"
        with open(log, "wb") as file:
            # A group of its own: should anything hang, all of it can be ended.
            mpirun = subprocess.Popen(
                words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={**os.environ, **settings}, start_new_session=True,
            )  # fmt: skip
        ranks = {}
        try:
            self.wait_for_stage(mpirun, log)
            ranks = children_of(mpirun.pid)
            target = mpirun.pid if self.aim == "mpirun" else ranks.get(self.victim)
            sent = False
            if target is not None and mpirun.poll() is None:
                try:
                    os.kill(target, getattr(signal, "SIG" + self.signal))
                    sent = True
                except ProcessLookupError:
                    pass
            limit = PROMISE + FOR_MPIRUN + (FOR_STARTING if self.stage == "start" or not sent else 0)
            # A signal that leaves results, or none at all, and a problem without an end: none here is without one.
            begun = time.monotonic()
            while (mpirun.poll() is None or any(map(is_alive, ranks.values()))) and time.monotonic() - begun < limit:
                time.sleep(0.01)
            took = time.monotonic() - begun
            left = [rank for rank, process in ranks.items() if is_alive(process)]
            what = check_set(self.folder / "out", before, self.n, self.m, True) if mpirun.poll() is None else ""
            if self.signal == "STOP" and left == [self.victim] and "new set, converged" in what:
                # Stopped on its way out: the others are done, with success, and mpirun waits for it.
                return f"all but the one that was stopped have ended, {what}"
            if left:
                raise Failure(f"not over after {limit} s: ranks {left}")
            if mpirun.poll() is None:
                # Seen with Open MPI 4.1.4 and SIGUSR1 at the start: every rank is gone, and mpirun waits for one.
                return f"mpirun itself did not end, {what}"
            return self.judge(mpirun.returncode, before, log.read_bytes().decode(errors="replace"), sent, took)
        finally:
            for process in [*ranks.values(), mpirun.pid]:
                if is_alive(process):
                    os.kill(process, signal.SIGKILL)
            mpirun.wait(timeout=10)

    def judge(self, status, before, log, sent, took):
        lines = [line for part in log.split("\n") for line in part.split("\r") if line.startswith("fedsinkhorn:")]
        if len(lines) > 1:
            raise Failure(f"more than one line: {lines}")
        hard = self.signal == "KILL"
        # What mpirun gives back: a rank's status; 128 + the signal that ended one, before it could handle it, too; 1 if
        # it was ended itself.
        documented = {0, 3, 4, 130}
        by_mpirun = {1, 137, 143, -9, -15, -2} if hard or self.aim == "mpirun" else {138, 143} if self.stage == "start" else set()
        if status not in documented | by_mpirun:
            raise Failure(f"status {status}")
        # mpirun kills ranks that have not ended a second after it was told to end.
        what = check_set(self.folder / "out", before, self.n, self.m, hard or self.aim == "mpirun")
        # While ranks come together a signal ends them without a word: all of them would say it.
        is_early = self.stage == "start" or "interrupted before" in log
        if status == 130 and "new set, interrupted" not in what and not is_early:
            raise Failure(f"interrupted, and {what} is there")
        if status in (0, 3) and "new set" not in what:
            raise Failure(f"status {status}, and {what} is there")
        if sent and self.aim == "mpirun" and self.signal in ("TERM", "INT", "USR1") and self.stage in ("rounds", "rebuild"):
            if "new set" not in what:
                raise Failure(f"interrupted after the first iteration, and {what} is there")
        return f"status {status}, {what}, {took:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=Path("build/fedsinkhorn"))
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each has the next one")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a run that failed")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    if shutil.which("mpirun") is None:
        sys.exit("chaos: there is no mpirun here")
    failed = []
    folder = Path(tempfile.mkdtemp(prefix="fedsinkhorn-chaos-"))
    try:
        for name, n, m, _ in PROBLEMS:
            subprocess.run(
                [program, "generate", "--kind", "clusters", "--rows", str(n), "--columns", str(m), "--marginals", "random",
                 "--write", "both", "--output", name], cwd=folder, stdout=subprocess.DEVNULL, check=True, timeout=60,
            )  # fmt: skip
        begun = time.monotonic()
        for seed in range(arguments.seed, arguments.seed + arguments.runs):
            run = Run(program, seed, folder)
            try:
                print(f"{run}: {run.perform()}", flush=True)
            except Failure as failure:
                failed.append(seed)
                print(f"{run}: FAILED: {failure}", flush=True)
                print((folder / "log").read_text(errors="replace")[-2000:], flush=True)
                if arguments.keep:
                    break
        print(f"chaos: {arguments.runs} runs, {len(failed)} failed {failed or ''}, {time.monotonic() - begun:.0f} s")
    finally:
        if not (failed and arguments.keep):
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
