// What all clients must have the same of. They compare digests: these tell nothing about data that agree, and of data
// that differ only that they do, to those who do not have the key (see Collectives::digest_key) or guess the data.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/digest.hpp"

namespace fedsinkhorn {

/// Items are added first, the same ones at all clients in the same order; then they are compared.
class CommonData {
 public:
  /// clients must outlive it. threads: for items of more than 1 MiB.
  explicit CommonData(const Collectives& clients, int threads = 1) : clients_(clients), threads_(threads) {}

  /// The next one, to which its numbers are to be added; valid as long as this. name: for this client's user.
  [[nodiscard]] NumbersDigest& item(std::string name);

  /// Throws InputError at all clients if an item is not the same everywhere, and says which, and whose differ. It is
  /// the same error at all, unless clients keep reasons to themselves: then each names the item as its own user knows
  /// it. advice: what would be right. Collective: an allgather of 16 bytes per item.
  void require_same(const std::string& advice = "give the same to all clients");

 private:
  const Collectives& clients_;
  const int threads_;
  std::vector<std::string> names_;
  std::deque<NumbersDigest> digests_;
};

}  // namespace fedsinkhorn
