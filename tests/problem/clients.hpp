// Clients on threads, each looking at its own part of a problem.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/checked_problem.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {

inline void PrintTo(const Range& range, std::ostream* stream) { *stream << range.first << ".." << range.last; }

}  // namespace fedsinkhorn

namespace fedsinkhorn::testing {

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

/// The same, which starts like this.
inline void expect_all_say(const std::vector<std::string>& complaints, const std::string& start) {
  for (const std::string& complaint : complaints) {
    EXPECT_EQ(complaint, complaints.front());
    EXPECT_TRUE(complaint.starts_with(start)) << complaint;
  }
}

}  // namespace fedsinkhorn::testing
