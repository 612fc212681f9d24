// The state behind Session, for programs of this project that exchange messages with other clients themselves.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "comm/sum_server.hpp"
#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

struct Session::State {
  std::string transport;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<ServerLease> lease{};  ///< on the server, if there is one

  /// From now on the last process is a server. All clients call it at the same point of the program.
  void hire_server() {
    if (lease) return;
    communicator->keep_to_server();
    lease = std::make_unique<ServerLease>(*communicator);
  }
  /// The run has failed, and all have been told.
  void abandon_server() {
    if (lease) lease->abandon();
  }
};

}  // namespace fedsinkhorn
