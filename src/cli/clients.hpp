// The clients of a solve, as one process sees them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "cli/check_keys.hpp"
#include "cli/refusal.hpp"
#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/kept_reason.hpp"
#include "comm/long_work.hpp"
#include "comm/policy.hpp"
#include "comm/secure_sums.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {

/// The clients of this process, and how to solve with the rest.
struct Clients {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t all = 1;
  std::unique_ptr<Session> session;                                // if the others run in other processes
  std::unique_ptr<PolicedCommunicator> communicator_of_session{};  // for messages outside the solve
  std::unique_ptr<Communicator> without_server{};                  // if there is one: the others
  std::unique_ptr<SecureSums> sums{};                              // and what it adds up

  [[nodiscard]] bool share_process() const { return session == nullptr; }
  [[nodiscard]] PolicedCommunicator& communicator() const { return *communicator_of_session; }
  void join(const std::string& transport, double timeout) {
    session = std::make_unique<Session>(transport, timeout);
    communicator_of_session = std::make_unique<PolicedCommunicator>(*session->state().communicator);
    first = session->rank();
    all = session->size();
  }
  /// The last process is a server, and this one is not. Throws on all clients if one has no keys that will do.
  void use_server(std::unique_ptr<PayloadPolicy> policy, const KeyFiles& keys) {
    session->state().hire_server();
    communicator().obey(std::move(policy));
    without_server = without_last(communicator());
    all = without_server->size();
    // Without keys there are no masks yet: the server passes on whether a client can go on, and no more.
    const Mishap mine = mishap_of([&] { check_keys(keys, first, all); });
    const std::size_t failed = relay_by_server(mine.kind == Mishap::Kind::none ? "1" : "0").find('0');
    if (failed == first) throw KeptReason(mine.text);
    if (failed != std::string::npos) throw RefusedElsewhere(line_without_reason(failed));
    sums = make_secure_sums(make_served_summing(communicator(), *without_server), keys.own, keys.fingerprints);
  }
  [[nodiscard]] Collectives collectives() const {
    if (sums) return Collectives(*without_server, Route::through_server, std::nullopt, sums.get());
    return Collectives(communicator(), Route::through_root);
  }
  /// Runs body on all ranks and makes it end the same way on all.
  void agree_on(const std::function<void()>& body) const {
    if (share_process()) return body();
    agree(collectives(), body);
  }
  /// The same for a body that may take longer than the timeout between ranks. abandon: makes it end soon.
  void agree_on_long(const std::function<void()>& body, const std::function<void()>& abandon) const {
    if (share_process()) return body();
    agree_on_long_work(collectives(), body, abandon);
  }
  /// Ends all communication with the others.
  void part() {
    sums.reset();
    without_server.reset();
    communicator_of_session.reset();
    session.reset();
  }
  /// Call when all ranks refuse for the same reason. One prints the message and the others wait for it: as soon as a
  /// rank ends, mpirun kills the rest. knows_reason: this rank alone does, so it prints it, too.
  void refuse_together(const std::string& message, bool knows_reason) const {
    if (session->rank() == 0 || knows_reason) fmt::print(stderr, "{}\n", refusal_line(message));
    std::fflush(stderr);
    try {
      if (without_server && !sums) {
        (void)relay_by_server("1");  // clients without keys meet there, too
      } else {
        collectives().barrier();
      }
    } catch (const std::exception&) {  // one gave up by itself, and the others were told: there is nobody to meet
    }
  }

 private:
  /// What all clients say, in order: as many bytes from each.
  [[nodiscard]] std::string relay_by_server(const std::string& mine) const {
    return make_served_summing(communicator(), *without_server)->relay(mine);
  }
};

}  // namespace fedsinkhorn
