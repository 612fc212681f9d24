"""What ends a solve: callbacks, exceptions, Ctrl-C; and threads and forks around it."""
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import scaled

import fedsinkhorn
from fedsinkhorn import solve

ENDLESS = dict(epsilon=0.01, tolerance=0, max_iterations=10**9, on_failure="ignore")


def test_callbacks_are_told(costs):
    seen = []
    result = solve(costs, epsilon=0.01, callback=lambda progress: seen.append(
        (progress.iteration, progress.error_a, progress.tolerance, progress.max_iterations)))
    assert seen[-1][0] == result.iterations and seen[-1][2] == pytest.approx(1e-9) and seen[-1][3] == 10000
    assert [one[0] for one in seen] == result.trace["iteration"].tolist()
    assert [one[1] for one in seen] == result.trace["error_a"].tolist()


@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("error", [KeyError, SystemExit, KeyboardInterrupt, MemoryError])
def test_what_a_callback_raises_comes_out(costs, error, clients):
    def fail(progress):
        if progress.iteration >= 5:
            raise error("five")

    with pytest.raises(error, match="five"):
        solve(costs, callback=fail, clients=clients, **ENDLESS)


def test_a_callback_may_end_the_solve(costs):
    result = solve(costs, callback=lambda progress: progress.iteration >= 5, **ENDLESS)
    assert result.status == "interrupted" and 5 <= result.iterations <= 6
    np.testing.assert_allclose(result.plan.dense().sum(), 1)


def test_a_callback_may_solve(costs):
    inner = []
    solve(costs, epsilon=0.05, callback=lambda progress: inner.append(solve(costs, epsilon=0.05).iterations) and None)
    assert len(set(inner)) == 1


def test_arrays_freed_during_a_callback(rng):
    """Nobody but the solve knows them then."""
    holder = [rng.random((60, 50)), rng.random(60), rng.random(50)]
    holder[1] /= holder[1].sum()
    holder[2] /= holder[2].sum()

    def drop(progress):
        if holder:
            holder.clear()
            gc.collect()
        np.full((60, 50), np.nan)  # would be written over them

    assert solve(*holder, epsilon=0.01, callback=drop).converged


def test_arrays_changed_during_a_callback_do_not_crash(rng):
    C = rng.random((60, 50))

    def change(progress):
        C[:] = np.nan

    solve(C, epsilon=0.01, callback=change, max_iterations=50, on_failure="ignore")


def test_progress_bars(costs, capfd, monkeypatch):
    solve(costs, epsilon=0.01, progress=True)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    seen = []
    solve(costs, epsilon=0.01, progress=True, callback=seen.append)
    assert seen and "iteration" in capfd.readouterr().err


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import fedsinkhorn
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with SIGINT ignored
C = np.random.default_rng(0).random((400, 300))
threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    fedsinkhorn.solve(C, epsilon=0.01, tolerance=0, max_iterations=10**9, clients={clients})
except KeyboardInterrupt as interrupt:
    result = interrupt.result
    assert result.status == "interrupted" and result.iterations > 0, result
    assert abs(result.plan.dense().sum() - 1) < 1e-6
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        print("as it should be")
"""


@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("raises", [lambda: os.kill(os.getpid(), signal.SIGINT), lambda: _raise(KeyboardInterrupt)])
@pytest.mark.parametrize("is_nested", [False, True])
def test_an_interrupt_in_a_callback_has_the_result(costs, clients, raises, is_nested):
    """Ctrl-C comes while the callback runs, or a solve inside it."""

    def interrupt(progress):
        if progress.iteration >= 5:
            raises()
            time.sleep(10)  # the signal comes before that ends

    def outer(progress):
        if progress.iteration == 3:
            solve(costs[:10], callback=interrupt, **ENDLESS)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            solve(costs, callback=outer if is_nested else interrupt, clients=clients, **ENDLESS)
    finally:
        signal.signal(signal.SIGINT, handler)
    result = caught.value.result
    assert result.status == "interrupted" and result.plan.shape == (40, 30)
    assert result.iterations in ((3, 4) if is_nested else (5, 6))


def _raise(error):
    raise error


def test_true_of_numpy_ends_the_solve(costs):
    assert solve(costs, callback=lambda progress: np.bool_(True), **ENDLESS).status == "interrupted"


DAEMONS = """
import sys, threading
import numpy as np
import fedsinkhorn
C = np.random.default_rng(0).random((200, 150))
settings = dict(epsilon=1e-3, tolerance=0, max_iterations={iterations}, on_failure="ignore", clients={clients})
started = threading.Semaphore(0)


def work(progress=None):
    started.release()


def solve():
    while True:
        fedsinkhorn.solve(C, callback={callback}, **settings)
        started.release()
        fedsinkhorn.solve(C, epsilon=0.1).plan.dense()


for _ in range(3):
    threading.Thread(target=solve, daemon=True).start()
if {waits}:
    for _ in range(3):
        started.acquire()
print("at its end")
"""


@pytest.mark.parametrize("settings", [
    dict(iterations=10**9, clients=1, callback="None", waits=False),
    dict(iterations=10**9, clients=1, callback="work", waits=True),
    dict(iterations=10**9, clients=3, callback="work", waits=True),
    dict(iterations=10, clients=1, callback="None", waits=True),
    dict(iterations=10, clients=2, callback="lambda progress: fedsinkhorn.solve(C, epsilon=0.1) and None", waits=True)])
def test_python_ends_while_daemon_threads_solve(settings):
    run = subprocess.run([sys.executable, "-c", DAEMONS.format(**settings)], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "at its end\n", "")


@pytest.mark.parametrize("clients", [1, 3])
def test_ctrl_c(clients):
    started = time.monotonic()
    run = subprocess.run([sys.executable, "-c", INTERRUPTED.format(clients=clients)], capture_output=True, text=True,
                         timeout=60)
    assert run.stdout == "as it should be\n", run.stderr
    assert time.monotonic() - started < 30


def test_a_handler_of_others_is_left_alone():
    code = """
import os, signal
import numpy as np
import fedsinkhorn
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))


def interrupt(progress):
    if progress.iteration == 10:
        os.kill(os.getpid(), signal.SIGINT)


C = np.random.rand(50, 50)
result = fedsinkhorn.solve(C, epsilon=0.01, tolerance=0, max_iterations=50, on_failure="ignore", callback=interrupt)
print(result.status, len(seen))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout == "iteration_limit 1\n", run.stderr


def test_the_gil_is_released(rng):
    C = rng.random((300, 300))
    stop = threading.Event()
    turns = [0]

    def count():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    result = solve(C, epsilon=0.01, tolerance=0, max_iterations=3000, method="sinkhorn", on_failure="ignore")
    stop.set()
    counter.join()
    assert turns[0] >= min(20, 200 * result.seconds)


def test_threads_and_callbacks(rng):
    """Solves on several threads at once, with callbacks that raise, solve or stop, and plans asked for meanwhile."""
    C = rng.random((25, 20))
    expected = solve(C, epsilon=0.05).cost.linear
    shared = solve(C, epsilon=0.05)
    failures = []

    def once(round_number):
        kind = round_number % 6
        if kind == 0:
            assert solve(C, epsilon=0.05, callback=lambda p: None).cost.linear == expected
        elif kind == 1:
            def fail(progress):
                raise ZeroDivisionError
            with pytest.raises(ZeroDivisionError):
                solve(C, epsilon=0.05, callback=fail)
        elif kind == 2:
            assert solve(C, epsilon=0.05, callback=lambda p: True, on_failure="ignore").status == "interrupted"
        elif kind == 3:
            assert solve(C, epsilon=0.05, clients=2, callback=lambda p: solve(C, epsilon=0.5) and None).converged
        elif kind == 4:
            np.testing.assert_allclose(shared.plan.dense().sum(), 1)
            shared.plan.apply(np.ones(20))
        else:
            with pytest.raises(fedsinkhorn.InputError):
                solve(C * np.nan, epsilon=0.05)

    def work(first):
        try:
            for k in range(first, rounds, 4):
                once(k)
        except BaseException as failure:  # reported by the test, not by the thread
            failures.append(failure)

    rounds = scaled("FEDSINKHORN_STRESS_ROUNDS", 120)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def _solve_in_child(C, queue):
    queue.put(solve(C, epsilon=0.05).cost.linear)


def test_fork(costs):
    expected = solve(costs, epsilon=0.05).cost.linear  # this process has threads by now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(costs, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork_in_a_callback(costs):
    def fork(progress):
        if progress.iteration == 2:
            child = os.fork()
            if child == 0:
                os._exit(17)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17

    assert solve(costs, epsilon=0.05, callback=fork).converged
