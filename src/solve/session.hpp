// What is behind MpiSession, for programs of this project that talk to the other ranks themselves.
#pragma once

#include <memory>

#include "comm/communicator.hpp"
#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

struct MpiSession::State {
  std::unique_ptr<Communicator> communicator;
};

}  // namespace fedsinkhorn
