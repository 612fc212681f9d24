// A server that only sums: it has no data, sees masked words alone, and sends back their sum, which is masked, too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// What a client asks the server for, in front of its words. All clients ask for the same.
struct SumRequest {
  enum class Kind : std::uint16_t { relay, add_up, leave };
  std::uint32_t protocol = 0;
  Kind kind = Kind::leave;
  std::uint16_t payload = 0;
  std::uint64_t counter = 0;
  std::uint64_t bytes = 0;  ///< per client
  std::uint64_t reserved = 0;

  [[nodiscard]] bool operator==(const SumRequest&) const = default;
};
inline constexpr std::uint32_t kSumProtocol = 0x46530102;
/// The most that one request may carry.
inline constexpr std::uint64_t kMostSummed = std::uint64_t{1} << 36U;

/// While a client has one, the server stays. All clients give theirs up at the same point of the program.
class ServerLease {
 public:
  /// everyone must outlive it.
  explicit ServerLease(Communicator& everyone) : everyone_(everyone) {}
  ~ServerLease();
  ServerLease(const ServerLease&) = delete;
  ServerLease& operator=(const ServerLease&) = delete;

  /// The run has failed, and the server has been told: it does not wait for this client to leave.
  void abandon() { is_abandoned_ = true; }

 private:
  Communicator& everyone_;
  bool is_abandoned_ = false;
};

/// Serves the clients, which are all others, until they leave. It is the last of them all. While they compute, it waits
/// for up to a day; once the first has asked, the others have the usual time. Throws ClientLost if they ask for
/// different things or one does not come.
void serve_sums(Communicator& everyone);

}  // namespace fedsinkhorn
