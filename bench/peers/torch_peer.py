"""Two matrix-vector products an iteration in PyTorch, as the paper's implementation does it.
Arguments: n epsilon threads."""
import json
import sys
import time

try:
    import torch
    from problem import Problem, serve
except ImportError as error:
    print(json.dumps({"missing": error.name}))
    sys.exit()

n, epsilon, threads = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)


class State:
    def __init__(self, problem, dtype):
        self.a = torch.from_numpy(problem.a).to(dtype)
        self.b = torch.from_numpy(problem.b).to(dtype)
        self.kernel = torch.from_numpy(problem.cost).div(-epsilon).exp_().to(dtype)
        self.u = torch.full((n,), 1 / n, dtype=dtype)
        self.v = None

    def iterate(self, iterations):
        for _ in range(iterations):
            self.v = self.b / (self.kernel.T @ self.u)
            self.u = self.a / (self.kernel @ self.v)


problem = Problem(n)
states = {"float64": State(problem, torch.float64), "float32": State(problem, torch.float32)}
del problem


def check(iterations):
    state = states["float64"]
    state.iterate(int(iterations))
    return {"u": state.u.tolist(), "v": state.v.tolist()}


def seconds(dtype, iterations):
    start = time.perf_counter()
    states[dtype].iterate(int(iterations))
    return {"seconds": (time.perf_counter() - start) / int(iterations)}


serve(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads", {"check": check, "time": seconds})
