"""Two matrix-vector products an iteration in PyTorch, as the paper's implementation does it.
Arguments: n or a folder, epsilon, threads."""
import json
import sys
import time

try:
    import torch
    from problem import Problem, serve
except ImportError as error:
    print(json.dumps({"missing": error.name}))
    sys.exit()

given, epsilon, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)


class State:
    def __init__(self, epsilon, dtype):
        self.a = torch.from_numpy(problem.a).to(dtype)
        self.b = torch.from_numpy(problem.b).to(dtype)
        self.kernel = torch.from_numpy(problem.cost).div(-epsilon).exp_().to(dtype)
        self.u = torch.full_like(self.a, 1 / len(self.a))
        self.v = None

    def iterate(self, iterations):
        for _ in range(iterations):
            self.v = self.b / (self.kernel.T @ self.u)
            self.u = self.a / (self.kernel @ self.v)


problem = Problem(given)
states = {}


def state_of(dtype):
    """Kept from one question to the next."""
    if dtype not in states:
        states[dtype] = State(epsilon, getattr(torch, dtype))
    return states[dtype]


def check(iterations):
    state = state_of("float64")
    state.iterate(int(iterations))
    return {"u": state.u.tolist(), "v": state.v.tolist()}


def run(epsilon, iterations):
    """From the cost matrix on: kernel and loop, and the potentials they lead to."""
    epsilon = float(epsilon)
    start = time.perf_counter()
    state = State(epsilon, torch.float64)
    kernel = time.perf_counter() - start
    state.iterate(int(iterations))
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "kernel": kernel, "f": (epsilon * state.u.log()).tolist(),
            "g": (epsilon * state.v.log()).tolist()}


def seconds(dtype, iterations):
    state = state_of(dtype)
    start = time.perf_counter()
    state.iterate(int(iterations))
    return {"seconds": (time.perf_counter() - start) / int(iterations)}


serve(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads",
      {"check": check, "run": run, "time": seconds})
