#!/usr/bin/env python3
"""mpirun, which tests can rely on to end: mpirun.py MPIRUN ARGUMENT...

Open MPI 4.1 with PMIx 4.2 now and then does not end when it has ended all ranks: in PMIx_server_finalize it crashes, or
a thread waits for one that waits for a lock (once in twenty times under load, after ranks were killed). A process of
its own watches: if mpirun is there ten seconds after the last rank, or does not take note of a dead one for half a
minute, it gets the signal of that crash and says where it is. Where that hangs, too, it is killed with all its ranks, and
this says so in its place. Tests treat all of these alike (mpirun_status.hpp).
"""
import os
import signal
import sys
import time

GRACE = 10  # seconds after the last rank
GRACE_OF_DEAD = 30  # seconds that a rank may be dead while others live
GRACE_OF_CRASH = 5  # seconds to crash in


def children_of(parent):
    """State of each child by its number, Z for one that is dead."""
    states = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, its_parent = stat.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # gone meanwhile
        if int(its_parent) == parent:
            states[int(name)] = state
    return states


def is_there(process):
    return os.path.exists(f"/proc/{process}")


def wait_until_stuck(mpirun):
    """Returns whether it is; else it has ended."""
    had_ranks = False
    stuck_since = None
    while is_there(mpirun):
        states = children_of(mpirun).values()
        has_ranks = any(state != "Z" for state in states)
        had_ranks = had_ranks or has_ranks
        if had_ranks and (not has_ranks or "Z" in states):
            stuck_since = stuck_since or time.monotonic()
            if time.monotonic() - stuck_since > (GRACE_OF_DEAD if has_ranks else GRACE):
                return True
        else:
            stuck_since = None
        time.sleep(0.5)
    return False


def say_for(process, line):
    try:
        stream = os.open(f"/proc/{process}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        os.write(stream, line.encode())
    except OSError:  # nobody listens
        pass


def watch(mpirun):
    if not wait_until_stuck(mpirun):
        return
    os.kill(mpirun, signal.SIGSEGV)
    end = time.monotonic() + GRACE_OF_CRASH
    while is_there(mpirun) and time.monotonic() < end:
        time.sleep(0.5)
    if is_there(mpirun):
        ranks = children_of(mpirun)
        say_for(mpirun, "mpirun hung, as in PMIx_server_finalize, and was killed\n")
        for process in (mpirun, *ranks):
            os.kill(process, signal.SIGKILL)


def start_watching(mpirun):
    """As nobody's child, with nothing of ours open."""
    child = os.fork()
    if child != 0:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork() == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.closerange(3, 1024)
        try:
            watch(mpirun)
        except OSError:  # it ended meanwhile
            pass
    os._exit(0)


start_watching(os.getpid())
os.execvp(sys.argv[1], sys.argv[1:])
