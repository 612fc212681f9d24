"""Clients as MPI processes, started by mpirun, each with its own rows."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import fedsinkhorn

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
if not fedsinkhorn._core.has_mpi:
    with pytest.raises(fedsinkhorn.InputError, match="^comm: .*without MPI"):
        fedsinkhorn.solve(np.zeros((2, 2)), epsilon=1, comm=object())
    pytest.skip("built without MPI", allow_module_level=True)
pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")

PROGRAM = """
import json, sys
import numpy as np
from mpi4py import MPI
import fedsinkhorn

comm = MPI.COMM_WORLD
folder, settings = sys.argv[1], json.loads(sys.argv[2])
data = np.load(folder + "/data.npz")
if comm.rank == 3:
    for _ in range(2):
        fedsinkhorn.serve(comm)
    sys.exit(0)
cuts = [0, 11, 11, 40]  # one has nothing
mine = slice(cuts[comm.rank], cuts[comm.rank + 1])
C = (data["X"][mine], data["Y"]) if settings.pop("points", False) else data["C"][mine]
if settings.pop("fortran", False):
    C = np.asfortranarray(C)
for _ in range(2):  # a process may solve more than once
    result = fedsinkhorn.solve(C, data["a"][mine], data["b"], epsilon=0.02, tolerance=1e-13, comm=comm, **settings)
keeps = len(result.f) == cuts[comm.rank + 1] - cuts[comm.rank]
first = 0 if keeps else cuts[comm.rank]
f = result.f[first:first + cuts[comm.rank + 1] - cuts[comm.rank]]
np.savez(f"{folder}/rank{comm.rank}.npz", f=f, g=result.g, status=result.status, linear=result.cost.linear)
if keeps:
    np.save(f"{folder}/plan{comm.rank}.npy", result.plan.dense())
"""


def mpirun(count, arguments, folder):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       PYTHONPATH=os.path.dirname(os.path.dirname(fedsinkhorn.__file__)))
    return subprocess.run(["mpirun", "--oversubscribe", "-n", str(count), sys.executable, *arguments], env=environment,
                          cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path, rng):
    X, Y = rng.random((40, 2)), rng.random((30, 2))
    a, b = rng.random(40) + 0.1, rng.random(30) + 0.1
    np.savez(tmp_path / "data.npz", X=X, Y=Y, a=a / a.sum(), b=b / b.sum(), C=((X[:, None] - Y[None]) ** 2).sum(-1))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("settings", [{"policy": "sums"}, {"policy": "sums", "points": True, "kernel": "online"}, {},
                                      {"policy": "sums", "server": "sums"}, {"policy": "sums", "fortran": True},
                                      {"fortran": True}])
def test_own_rows_give_the_plan_of_one_process(folder, settings):
    processes = 4 if "server" in settings else 3
    run = mpirun(processes, ["program.py", str(folder), json.dumps(settings)], folder)
    assert run.returncode == 0, run.stderr
    data = np.load(folder / "data.npz")
    alone = fedsinkhorn.solve(data["C"], data["a"], data["b"], epsilon=0.02, tolerance=1e-13)
    ranks = [np.load(folder / f"rank{k}.npz") for k in range(3)]
    f, g = np.concatenate([rank["f"] for rank in ranks]), ranks[0]["g"]
    plan = np.exp((f[:, None] + g[None] - data["C"]) / 0.02)
    assert abs(plan - alone.plan.dense()).sum() < 1e-10
    assert all(rank["status"] == "converged" for rank in ranks)
    if settings.get("policy") == "sums":
        plans = np.concatenate([np.load(folder / f"plan{k}.npy") for k in range(3)])
        assert abs(plans - alone.plan.dense()).sum() < 1e-10


# To files: mpirun mixes what processes print at the same time, in the middle of lines.
REFUSED = """
from pathlib import Path
import numpy
from mpi4py import MPI
import fedsinkhorn

rank = MPI.COMM_WORLD.rank
try:
    fedsinkhorn.solve(numpy.random.rand(4, 5), epsilon={epsilon}, comm={comm})
except fedsinkhorn.InputError as error:
    Path(f"error{{rank}}").write_text(str(error))
"""


def errors_of(count, folder, epsilon="1", comm="MPI.COMM_WORLD"):
    (folder / "refused.py").write_text(REFUSED.format(epsilon=epsilon, comm=comm))
    run = mpirun(count, ["refused.py"], folder)
    assert run.returncode == 0, run.stderr
    return [(folder / f"error{rank}").read_text() for rank in range(count)]


def test_every_rank_has_the_same_error(tmp_path):
    errors = errors_of(3, tmp_path, epsilon="0.1 * (1 + rank)")
    assert errors[0].startswith("epsilon: ") and len(set(errors)) == 1, errors


@pytest.mark.parametrize("comm", ["MPI.COMM_SELF", "MPI.COMM_NULL", "'world'"])
def test_communicators_of_others_are_refused(tmp_path, comm):
    for error in errors_of(2, tmp_path, comm=comm):
        assert error.startswith("comm: ")


# Rank 1 is wrong in several ways, one after the other; then all solve.
WRONG_ON_ONE = """
from pathlib import Path
import numpy
from mpi4py import MPI
import fedsinkhorn

rank = MPI.COMM_WORLD.rank
C = numpy.random.default_rng(1).random((12, 5))
mine = C[4 * rank:4 * rank + 4]
seen = []
for wrong in (dict(tolerance=-1), dict(nonsense=1), dict(parts=3), dict(a=[]), dict(policy="none"), dict(timeout="a")):
    given = dict(policy={policy!r}, **(dict(a=numpy.full(4, 1 / 12))))
    if rank == 1:
        given.update(wrong)
    try:
        fedsinkhorn.solve(mine, epsilon=0.1, comm=MPI.COMM_WORLD, **given)
        seen.append("nothing")
    except (fedsinkhorn.InputError, TypeError) as error:
        seen.append(type(error).__name__ + " " + str(error))
result = fedsinkhorn.solve(mine, epsilon=0.1, tolerance=1e-12, comm=MPI.COMM_WORLD, policy={policy!r})
alone = fedsinkhorn.solve(C, epsilon=0.1, tolerance=1e-12)
plan = alone.plan.rows(4 * rank, 4 * rank + 4)
assert result.plan.shape == (4, 5) and abs(result.plan.dense() - plan).max() < 1e-10
assert abs(result.plan.apply(numpy.ones(5)) - 1 / 12).max() < 1e-10
seen.append(result.status)
Path(f"seen{{rank}}").write_text("\\n".join(seen))
"""


@pytest.mark.parametrize("policy", ["open", "sums"])
def test_what_one_rank_gives_wrongly_ends_all_and_they_can_go_on(tmp_path, policy):
    (tmp_path / "wrong.py").write_text(WRONG_ON_ONE.format(policy=policy))
    run = mpirun(3, ["wrong.py"], tmp_path)
    assert run.returncode == 0, run.stderr
    seen = [(tmp_path / f"seen{rank}").read_text().split("\n") for rank in range(3)]
    assert [ranks[-1] for ranks in seen] == ["converged"] * 3
    for k, reason in enumerate(["tolerance: -1", "solve() has no option 'nonsense'", "parts: ", "a: ", "policy: ",
                                "timeout: "]):
        at_fault = seen[1][k]
        assert reason in at_fault, at_fault
        for rank in (0, 2):
            error = seen[rank][k]
            is_told = policy == "open" and k < 4
            assert error.startswith("InputError ") and (reason in error) == is_told, error


WITH_A_SERVER = """
from pathlib import Path
import numpy
from mpi4py import MPI
import fedsinkhorn

rank = MPI.COMM_WORLD.rank
try:
    if rank == 3:
        fedsinkhorn.serve(MPI.COMM_WORLD)
    else:
        fedsinkhorn.solve(numpy.ones((4, 5)), epsilon=0.1, comm=MPI.COMM_WORLD, policy="sums", server="sums",
                          tolerance=-1 if rank == 1 else 1e-9)
except (fedsinkhorn.InputError, fedsinkhorn.ClientFailed) as error:
    Path(f"seen{rank}").write_text(type(error).__name__ + " " + str(error))
"""


def test_what_one_rank_gives_wrongly_reaches_the_server(tmp_path):
    (tmp_path / "server.py").write_text(WITH_A_SERVER)
    run = mpirun(4, ["server.py"], tmp_path)
    assert run.returncode == 0, run.stderr
    seen = [(tmp_path / f"seen{rank}").read_text() for rank in range(4)]
    assert seen[1].startswith("InputError tolerance: -1")
    assert all(seen[rank].startswith("ClientFailed client 1") for rank in (0, 2, 3)), seen


# One rank does not come to a solve of the others; later ones are not disturbed by that.
ONE_IS_MISSING = """
import os, signal, threading, time
from pathlib import Path
import numpy
from mpi4py import MPI
import fedsinkhorn

comm, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
C = numpy.random.default_rng(rank).random((4, 5))
signal.signal(signal.SIGINT, signal.default_int_handler)
seen = []


def attempt(**given):
    try:
        seen.append(fedsinkhorn.solve(C, epsilon=0.1, **given).status)
    except (Exception, KeyboardInterrupt) as error:
        seen.append(type(error).__name__)


attempt(comm=3 if rank == 1 else comm, timeout=0.2)
if rank == 1:
    while not Path("interrupted").exists():
        time.sleep(0.01)
if rank == 0:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    attempt(comm=comm)
    Path("interrupted").touch()
attempt(comm=comm)
attempt(comm=comm)
Path(f"seen{rank}").write_text(" ".join(seen))
"""


def test_one_rank_that_is_missing_does_not_disturb_later_solves(tmp_path):
    (tmp_path / "missing.py").write_text(ONE_IS_MISSING)
    run = mpirun(2, ["missing.py"], tmp_path)
    assert run.returncode == 0, run.stderr
    seen = [(tmp_path / f"seen{rank}").read_text().split() for rank in range(2)]
    assert seen == [["ClientFailed", "KeyboardInterrupt", "converged", "converged"],
                    ["InputError", "converged", "converged"]]


PARTS_OF_ALL = """
import numpy
from mpi4py import MPI
import fedsinkhorn

rank = MPI.COMM_WORLD.rank
X, Y = numpy.random.default_rng(rank).random((2, 4, 2))
result = fedsinkhorn.solve((X, Y), epsilon=0.1, comm=MPI.COMM_WORLD, parts=("X", "Y"))
assert result.converged and len(result.g) == 8
for call in (result.plan.dense, result.gradients, lambda: result.extend(X)):
    try:
        call()
        raise SystemExit("nothing")
    except fedsinkhorn.InputError as error:
        assert str(error).startswith("Y: "), error
"""


def test_plans_need_all_columns(tmp_path):
    (tmp_path / "parts.py").write_text(PARTS_OF_ALL)
    run = mpirun(2, ["parts.py"], tmp_path)
    assert run.returncode == 0, run.stderr
