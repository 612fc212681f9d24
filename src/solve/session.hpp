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
  std::unique_ptr<ServerLease> lease{};  ///< on the server, if a solve has used it
};

}  // namespace fedsinkhorn
