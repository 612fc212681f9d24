"""Predictions of time, bytes and memory, before anything is run. docs/cost-model.md has the model."""
import json

from . import _core
from ._solve import check_options


def shipped_profiles():
    """Names of the profiles that come with the library."""
    return _core.shipped_profiles()


def predict(profile, rows, columns=None, *, clients=1, targets=1, dimension=2, clients_per_machine=0, iterations=0,
            tolerance=1e-9, relative_epsilon=0.01, **options):
    """What a solve would take, as a dictionary: seconds_per_iteration, bytes_per_iteration, memory_bytes, ...

    profile: the name of a shipped profile or a file that `fedsinkhorn calibrate` has written. dimension: of points; 0
    for a matrix of costs. iterations: 0 estimates them from tolerance and relative_epsilon (epsilon over the largest
    cost), off by a factor of 4 either way. Options, such as topology and kernel, are those of `solve`.
    """
    check_options("predict", options)
    shape = dict(rows=rows, columns=columns, clients=clients, targets=targets, dimension=dimension,
                 clients_per_machine=clients_per_machine, iterations=iterations, tolerance=tolerance,
                 relative_epsilon=relative_epsilon)
    return json.loads(_core.predict(profile, shape, options))


def plan_topology(profile, rows, columns=None, *, clients, targets=1, dimension=2, clients_per_machine=0,
                  memory_per_client=0, memory_of_server=0, peers_may_talk=True, server_may_hold_kernel=True,
                  any_block_layout=True, tolerance=1e-9, relative_epsilon=0.01, **options):
    """Ranks topologies, kernels and precisions: a dictionary whose `options` are feasible ones first, the fastest
    first, then the others with a `reason`. Memory is in bytes; 0 means no limit. Options are those of `solve`."""
    check_options("plan_topology", options)
    question = dict(rows=rows, columns=columns, clients=clients, targets=targets, dimension=dimension,
                    clients_per_machine=clients_per_machine, iterations=0, memory_per_client=memory_per_client,
                    memory_of_server=memory_of_server, peers_may_talk=peers_may_talk,
                    server_may_hold_kernel=server_may_hold_kernel, any_block_layout=any_block_layout,
                    tolerance=tolerance, relative_epsilon=relative_epsilon)
    return json.loads(_core.plan_topology(profile, question, options))
