// What a client can find out about its keys by itself.
#pragma once

#include <cstddef>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// Reads them, and compares the client's own one with the fingerprint that the others expect. Done before the others
/// are met: they would find a wrong one, too, and who is first decides the exit status. Throws InputError.
void check_keys(const KeyFiles& keys, std::size_t client, std::size_t clients);

}  // namespace fedsinkhorn
