"""The paper's implementation, re-created: PyTorch multiplies, float64, and after each of the two products of an
iteration the clients exchange what they got, whole vectors at a time. No checks of the error, no stabilization.

  mpirun -n 4 python3 paper_stack.py --problem FOLDER --topology star --iterations 50      processes talk by mpi4py
  python3 paper_stack.py --ranks 4 --problem FOLDER --topology star --iterations 50        by torch.distributed, gloo

FOLDER has X.npy, a.npy and b.npy, as written by 'fedsinkhorn generate --shared-support'; the cost is |x_i - x_j|^2.
The number of points must be a multiple of the number of processes. Prints one line of JSON."""
import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

try:
    import numpy as np
    import torch
except ImportError as error:
    print(json.dumps({"missing": error.name}))
    sys.exit()


class MpiGroup:
    """Processes that talk by mpi4py. Tensors go as the arrays they are, nothing is pickled on the way."""

    def __init__(self, comm):
        self.comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def split(self, colour):
        return MpiGroup(self.comm.Split(colour, self.rank))

    def barrier(self):
        self.comm.Barrier()

    def send(self, part, to):
        self.comm.Send(part.numpy(), dest=to)

    def receive(self, part, source):
        self.comm.Recv(part.numpy(), source=source)

    def broadcast(self, whole, root):
        self.comm.Bcast(whole.numpy(), root=root)

    def allgather(self, part, whole):
        self.comm.Allgather(part.numpy(), whole.numpy())

    def allreduce(self, part, total):
        self.comm.Allreduce(part.numpy(), total.numpy())

    def everyones(self, value):
        return self.comm.allgather(value)


class GlooGroup:
    """The same by torch.distributed, where there is no MPI."""

    def __init__(self, group=None):
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    def split(self, colour):
        colours = self.everyones(colour)
        mine = None
        for each in sorted(set(colours)):  # every process must take part in making every group
            group = dist.new_group([rank for rank, other in enumerate(colours) if other == each])
            mine = group if each == colour else mine
        return GlooGroup(mine)

    def barrier(self):
        dist.barrier(self.group)

    def send(self, part, to):
        dist.send(part, to, self.group)

    def receive(self, part, source):
        dist.recv(part, source, self.group)

    def broadcast(self, whole, root):
        dist.broadcast(whole, root, self.group)

    def allgather(self, part, whole):
        dist.all_gather(list(whole.chunk(self.size)), part, self.group)

    def allreduce(self, part, total):
        total.copy_(part)
        dist.all_reduce(total, group=self.group)

    def everyones(self, value):
        values = [None] * self.size
        dist.all_gather_object(values, value, self.group)
        return values


class Stopwatch:
    def __init__(self):
        self.seconds = 0.0

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.start


class Problem:
    def __init__(self, folder, epsilon):
        self.x, self.a, self.b = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in "Xab")
        self.n, self.epsilon = len(self.a), epsilon

    def kernel(self, rows, columns):
        """exp(-C / epsilon) on a block, a few rows at a time: no second block beside it."""
        x, y = self.x[rows], self.x[columns]
        block = torch.empty(len(x), len(y), dtype=torch.float64)
        for first in range(0, len(x), 500):
            some = slice(first, first + 500)
            block[some] = torch.cdist(x[some], y).square_().div_(-self.epsilon).exp_()
        return block


class Client:
    """One process. The methods named after topologies iterate and return its parts of u and v, and where they lie."""

    def __init__(self, problem, group):
        self.problem, self.group = problem, group
        size = problem.n // group.size
        self.own = slice(group.rank * size, (group.rank + 1) * size)
        self.compute, self.communication = Stopwatch(), Stopwatch()

    def iterate(self, iterations, once):
        self.group.barrier()
        start = time.perf_counter()
        for _ in range(iterations):
            once()
        self.wall = time.perf_counter() - start

    def all_to_all(self, iterations):
        """Each holds its rows and its columns of K; everybody gets all of u and v."""
        p, everything = self.problem, slice(None)
        rows = p.kernel(self.own, everything)
        columns = p.kernel(self.own, everything)  # K[:,J]', row by row; the cost is symmetric
        a, b = p.a[self.own], p.b[self.own]
        u, v = torch.ones_like(p.a), torch.ones_like(p.b)

        def half(matrix, scaling, masses, result):
            with self.compute:
                part = masses / (matrix @ scaling)
            with self.communication:
                self.group.allgather(part, result)

        def once():
            half(rows, v, a, u)
            half(columns, u, b, v)

        self.iterate(iterations, once)
        return (u[self.own], self.own), (v[self.own], self.own)

    def star(self, iterations):
        """Rank 0 holds K: it collects a scaling, multiplies, and sends the product to all, who divide."""
        p, server = self.problem, self.group.rank == 0
        everything = slice(None)
        kernel = p.kernel(everything, everything) if server else None
        transposed = kernel.T if server else None
        a, b = p.a[self.own], p.b[self.own]
        u, v, product = torch.ones_like(p.a), torch.ones_like(p.b), torch.empty_like(p.a)

        def half(matrix, scaling, masses, result):
            with self.communication:
                if server:
                    for client, slot in enumerate(scaling.chunk(self.group.size)):
                        if client > 0:
                            self.group.receive(slot, client)
                else:
                    self.group.send(scaling[self.own], 0)
            if server:
                with self.compute:
                    torch.mv(matrix, scaling, out=product)
            with self.communication:
                self.group.broadcast(product, 0)
            with self.compute:
                torch.div(masses, product[self.own], out=result[self.own])

        def once():
            half(kernel, v, a, u)
            half(transposed, u, b, v)

        self.iterate(iterations, once)
        return (u[self.own], self.own), (v[self.own], self.own)

    def grid(self, iterations):
        """Each holds a block of K; products are added up along rows of the grid, then along columns of it."""
        p, size = self.problem, self.group.size
        high = max(d for d in range(1, size + 1) if size % d == 0 and d * d <= size)
        wide = size // high
        i, j = divmod(self.group.rank, wide)
        rows, columns = (slice(k * p.n // parts, (k + 1) * p.n // parts) for k, parts in ((i, high), (j, wide)))
        along, across = self.group.split(i), self.group.split(j)
        kernel = p.kernel(rows, columns)
        a, b = p.a[rows], p.b[columns]
        u, v = torch.ones_like(a), torch.ones_like(b)
        q, r = torch.empty_like(a), torch.empty_like(b)

        def half(matrix, scaling, group, total, masses, result):
            with self.compute:
                part = matrix @ scaling
            with self.communication:
                group.allreduce(part, total)
            with self.compute:
                torch.div(masses, total, out=result)

        def once():
            half(kernel, v, along, q, a, u)
            half(kernel.T, u, across, r, b, v)

        self.iterate(iterations, once)
        return (u if j == 0 else 0, rows), (v if i == 0 else 0, columns)


def whole(group, n, part, where):
    """All of a vector of which the processes have parts."""
    padded, total = torch.zeros(n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
    padded[where] = part
    group.allreduce(padded, total)
    return total


def run(options, group, talk):
    torch.set_num_threads(1)
    problem = Problem(options.problem, options.epsilon)
    if problem.n % group.size:
        raise SystemExit(f"{problem.n} points are not a multiple of {group.size} processes")
    client = Client(problem, group)
    iterate = {"all-to-all": client.all_to_all, "star": client.star, "grid": client.grid}[options.topology]
    parts = iterate(options.iterations)
    u, v = (whole(group, problem.n, *part) for part in parts)
    figures = group.everyones((client.wall, client.compute.seconds, client.communication.seconds))
    if group.rank > 0:
        return
    if options.save:
        for name, scaling in (("f", u), ("g", v)):
            np.save(options.save / f"{name}.npy", (problem.epsilon * scaling.log()).numpy())
    _, compute, communication = max(figures, key=lambda one: one[1])  # of the busiest
    print(json.dumps({"topology": options.topology, "clients": group.size, "iterations": options.iterations,
                      "talk": talk, "seconds": max(figures)[0] / options.iterations,
                      "compute": compute / options.iterations,
                      "communication": communication / options.iterations}), flush=True)


def start_ranks(ranks):
    """This script once for every rank, the way torchrun would start it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks),
                   "GLOO_SOCKET_IFNAME": "lo"}
    children = [subprocess.Popen([sys.executable, *sys.argv], env={**environment, "RANK": str(rank)})
                for rank in range(ranks)]
    sys.exit(max([child.wait() for child in children]))


parser = argparse.ArgumentParser()
parser.add_argument("--versions", action="store_true", help="say what is installed, or missing, and end")
parser.add_argument("--problem", type=Path)
parser.add_argument("--topology", choices=["all-to-all", "star", "grid"], default="all-to-all")
parser.add_argument("--epsilon", type=float, default=0.05)
parser.add_argument("--iterations", type=int, default=50)
parser.add_argument("--save", type=Path, help="folder for f.npy and g.npy, epsilon log u and epsilon log v")
parser.add_argument("--ranks", type=int, default=0, help="start so many processes, which talk by gloo")
options = parser.parse_args()

if options.versions:
    try:
        import mpi4py
    except ImportError as error:
        print(json.dumps({"missing": error.name}))
        sys.exit()
    print(json.dumps({"version": f"PyTorch {torch.__version__}, mpi4py {mpi4py.__version__}"}))
elif options.ranks and "RANK" not in os.environ:
    start_ranks(options.ranks)
elif options.ranks:
    import torch.distributed as dist
    dist.init_process_group("gloo")
    run(options, GlooGroup(), f"gloo of PyTorch {torch.__version__}")
    dist.destroy_process_group()
else:
    import mpi4py
    from mpi4py import MPI
    run(options, MpiGroup(MPI.COMM_WORLD), f"mpi4py {mpi4py.__version__}")
