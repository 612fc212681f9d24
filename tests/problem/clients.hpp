// Clients on threads, each looking at its own part of a problem.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/checked_problem.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn::testing {

inline LayoutOf layouts_of(const std::string& topology, std::size_t clients, const Options& options = {}) {
  const TopologyEntry& entry = topologies().find(topology, "`topology`");
  return [&entry, clients, options](std::size_t client) { return entry.layout(client, clients, options); };
}

/// Runs body(communicator) at every client and catches what it throws: its text, or "" where nothing was thrown, by
/// client. Anything but an InputError comes with "not an InputError: " before it.
inline std::vector<std::string> complaints(std::size_t clients, const std::function<void(Communicator&)>& body) {
  std::vector<std::string> texts(clients);
  // Only a client that hangs meets the limit.
  run_on_threads(clients, Seconds(60), [&](Communicator& communicator) {
    try {
      body(communicator);
    } catch (const InputError& error) {
      texts[communicator.rank()] = error.what();
    } catch (const std::exception& error) {
      texts[communicator.rank()] = std::string("not an InputError: ") + error.what();
    }
  });
  return texts;
}

/// The problem as every client sees it after all have checked theirs.
inline std::vector<CheckedProblem> checked_by_all(const std::vector<Problem>& problems, const std::string& topology,
                                                  const Options& options = {}) {
  const LayoutOf layouts = layouts_of(topology, problems.size(), options);
  std::vector<CheckedProblem> checked(problems.size());
  run_on_threads(problems.size(), Seconds(60), [&](Communicator& communicator) {
    const std::size_t k = communicator.rank();
    checked[k] = check_problem(problems[k], options, layouts, Collectives(communicator), 1);
  });
  return checked;
}

/// What each client says when they check these problems together.
inline std::vector<std::string> complaints_about(const std::vector<Problem>& problems, const std::string& topology,
                                                 const Options& options = {}) {
  const LayoutOf layouts = layouts_of(topology, problems.size(), options);
  return complaints(problems.size(), [&](Communicator& communicator) {
    (void)check_problem(problems[communicator.rank()], options, layouts, Collectives(communicator), 1);
  });
}

}  // namespace fedsinkhorn::testing
