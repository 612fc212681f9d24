// The clients of a solve, as one process sees them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "cli/refusal.hpp"
#include "comm/collectives.hpp"
#include "comm/long_work.hpp"
#include "comm/policy.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {

/// The clients of this process, and how to solve with the rest.
struct Clients {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t all = 1;
  std::unique_ptr<Session> session;                                // if the others are in other processes
  std::unique_ptr<PolicedCommunicator> communicator_of_session{};  // for what is said beside the solve

  [[nodiscard]] bool share_process() const { return session == nullptr; }
  [[nodiscard]] PolicedCommunicator& communicator() const { return *communicator_of_session; }
  void join(const std::string& transport, double timeout) {
    session = std::make_unique<Session>(transport, timeout);
    communicator_of_session = std::make_unique<PolicedCommunicator>(*session->state().communicator);
    first = session->rank();
    all = session->size();
  }
  [[nodiscard]] Collectives collectives() const { return Collectives(communicator(), Route::through_root); }
  /// Runs it on all ranks and sees to it that it ends alike on all.
  void agree_on(const std::function<void()>& body) const {
    if (share_process()) return body();
    agree(collectives(), body);
  }
  /// The same if it may take longer than ranks wait for each other. abandon: makes it end soon.
  void agree_on_long(const std::function<void()>& body, const std::function<void()>& abandon) const {
    if (share_process()) return body();
    agree_on_long_work(collectives(), body, abandon);
  }
  /// Nothing is to be said to the others any more.
  void part() {
    communicator_of_session.reset();
    session.reset();
  }
  /// All ranks have come to the same refusal. One says it, and the others wait until it has: as soon as a rank ends,
  /// mpirun kills the rest.
  void refuse_together(const std::string& message) const {
    if (session->rank() == 0) fmt::print(stderr, "{}\n", refusal_line(message));
    std::fflush(stderr);
    try {
      collectives().barrier();
    } catch (const std::exception&) {  // one gave up by itself, and the others were told: there is nobody to meet
    }
  }
};

}  // namespace fedsinkhorn
