#!/usr/bin/env python3
"""mpirun, which tests can rely on to end: mpirun.py MPIRUN ARGUMENT...

Open MPI 4.1 with PMIx 4.2 now and then does not end when it has ended all ranks: in PMIx_server_finalize it crashes, or
a thread waits for one that waits for a lock (once in twenty times under load, after ranks were killed). A process of
its own watches: ten seconds after the last rank, mpirun gets the signal of that crash, says where it is, and tests treat
both alike (mpirun_status.hpp).
"""
import os
import signal
import sys
import time

GRACE = 10  # seconds


def states_of_children(parent):
    """Of each child its state, Z for one that is dead."""
    states = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, its_parent = stat.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # gone meanwhile
        if int(its_parent) == parent:
            states.append(state)
    return states


def watch(mpirun):
    had_ranks = False
    alone_since = None
    while os.path.exists(f"/proc/{mpirun}"):
        has_ranks = any(state != "Z" for state in states_of_children(mpirun))
        had_ranks = had_ranks or has_ranks
        if has_ranks or not had_ranks:
            alone_since = None
        elif alone_since is None:
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since > GRACE:
            os.kill(mpirun, signal.SIGSEGV)
            return
        time.sleep(0.5)


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
        watch(mpirun)
    os._exit(0)


start_watching(os.getpid())
os.execvp(sys.argv[1], sys.argv[1:])
