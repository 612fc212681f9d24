// Refusals whose reason stays with one client.
#pragma once

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Another client refuses its input and keeps the reason to itself.
class RefusedElsewhere final : public InputError {
 public:
  using InputError::InputError;
};

/// This client refuses its input and keeps the reason, which is here, to itself.
class KeptReason final : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace fedsinkhorn
