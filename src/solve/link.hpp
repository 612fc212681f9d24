// One client's way to the others in a solve: messages are numbered, policed and counted, and numbers are combined as
// the policy demands.
#pragma once

#include <memory>

#include "comm/collectives.hpp"
#include "comm/counting.hpp"
#include "comm/numbering.hpp"
#include "comm/policy.hpp"
#include "comm/secure_sums.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

/// Whether one more process than there are clients adds up masked sums.
[[nodiscard]] bool has_server(const Options& options);

class Link {
 public:
  /// With a server, it is the last of `everyone`, and all messages go to it: keys are agreed on here. Otherwise,
  /// nothing is sent yet. Throws InputError if the options do not fit together so far.
  Link(Communicator& everyone, const Options& options);

  [[nodiscard]] std::size_t rank() const { return clients_->rank(); }
  [[nodiscard]] std::size_t clients() const { return clients_->size(); }
  [[nodiscard]] CountingCommunicator& traffic() { return traffic_; }

  /// Checks the options, here and that all clients have the same. Until the topology is agreed on, clients only talk to
  /// client 0, which every topology allows.
  void agree_on_options(const Problem& problem, const Options& options, int threads);
  /// In place of agree_on_options, without a server: all clients throw an InputError.
  [[noreturn]] void decline(const std::string& line, const Options& options);
  /// The clients, as that topology connects them. Agrees on keys if the policy needs them and there are none yet; if it
  /// needs none, on a random number of client 0 for digests.
  [[nodiscard]] Collectives connect(const TopologyEntry& topology, const Options& options);

 private:
  Communicator& everyone_;
  NumberingCommunicator numbered_;
  PolicedCommunicator policed_;
  CountingCommunicator traffic_;
  std::unique_ptr<Communicator> without_server_;
  Communicator* clients_;
  std::unique_ptr<SecureSums> sums_;
};

}  // namespace fedsinkhorn
