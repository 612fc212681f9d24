// Checks of what other clients send: their programs may be broken, of another version, or hostile. Counts, lengths,
// flags and numbers that control this client are read here. Each has a range; a value outside it ends the run at every
// client with one line that names the sender (ClientLost, see Communicator::distrust).
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// Whole numbers are sent as float64, which is exact up to this one.
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 53U;

/// Reads what one client sent. what: as in "client 3 sent <a length> of 1e18 where ...".
class FromPeer {
 public:
  /// The communicator must outlive it. client: its rank there.
  FromPeer(Communicator& communicator, std::size_t client) : communicator_(communicator), client_(client) {}

  /// A whole number from 0 to most, which is at most kMostCount.
  [[nodiscard]] std::uint64_t count(double x, std::uint64_t most, const char* what) const {
    if (!(x >= 0 && x <= static_cast<double>(most)) || x != std::floor(x)) {
      refuse(fmt::format("{} of {:g} where whole numbers up to {} are possible", what, x, most));
    }
    return static_cast<std::uint64_t>(x);
  }
  [[nodiscard]] bool truth(double x, const char* what) const { return count(x, 1, what) != 0; }
  /// A number from least to most, which may be infinity; never NaN.
  [[nodiscard]] double number(double x, double least, double most, const char* what) const {
    if (!(x >= least && x <= most)) {
      refuse(fmt::format("{} of {:g} where {:g} to {:g} is possible", what, x, least, most));
    }
    return x;
  }
  [[nodiscard]] double finite(double x, const char* what) const {
    return number(x, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max(), what);
  }
  [[noreturn]] void refuse(const std::string& sent) const {
    communicator_.distrust(client_, sent);
    throw std::logic_error("a client is not trusted, and the run goes on");
  }

 private:
  Communicator& communicator_;
  std::size_t client_;
};

}  // namespace fedsinkhorn
