// Second part of collectives.hpp: how clients fail together.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "comm/collectives.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// What went wrong at one client, or nothing.
struct Mishap {
  enum class Kind : char { none, input, memory, other, interrupted };
  Kind kind = Kind::none;
  std::string text;
};

/// Tells all clients what went wrong here. If anything did at any client, throws that of the lowest rank: InputError
/// for input and memory, Interrupted, or std::runtime_error otherwise.
void share_mishap(const Collectives& clients, const Mishap& mine);

/// Runs body, which must not communicate, and returns what went wrong.
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
