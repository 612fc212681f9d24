// The end of collectives.hpp, which see: how clients come to fail together.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "comm/collectives.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// What happened at one client, or at none.
struct Mishap {
  enum class Kind : char { none, input, memory, other, interrupted };
  Kind kind = Kind::none;
  std::string text;
};

/// Tells all clients what happened here. Throws that of the lowest rank to which anything happened: InputError for
/// input and memory, Interrupted, std::runtime_error otherwise.
void share_mishap(const Collectives& clients, const Mishap& mine);

/// What happens when it is run, which must not communicate.
template <class Body>
[[nodiscard]] Mishap mishap_of(const Body& body) {
  try {
    body();
  } catch (const ClientLost&) {  // the others know, or cannot be told
    throw;
  } catch (const ClientFailed&) {
    throw;
  } catch (const InputError& error) {
    return {Mishap::Kind::input, error.marked()};
  } catch (const Interrupted& stop) {
    return {Mishap::Kind::interrupted, stop.what()};
  } catch (const std::bad_alloc&) {
    return {Mishap::Kind::memory, "memory: an allocation was refused; use `kernel` online or a smaller problem"};
  } catch (const std::exception& error) {
    return {Mishap::Kind::other, error.what()};
  }
  return {};
}

template <class Body>
void agree(const Collectives& clients, const Body& body) {
  share_mishap(clients, mishap_of(body));
}

}  // namespace fedsinkhorn
