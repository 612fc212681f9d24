#include "comm/common_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// all: of each client, one after the other, one digest per name.
void refuse_differences(const std::vector<std::string>& names, const std::vector<Digest>& all,
                        const std::string& advice) {
  for (std::size_t item = 0; item < names.size(); ++item) {
    std::vector<std::size_t> different;
    for (std::size_t at = item; at < all.size(); at += names.size()) {
      if (all[at] != all[item]) different.push_back(at / names.size());
    }
    if (different.empty()) continue;
    throw InputError(names[item],
                     fmt::format("client{} {} {} others than client 0", different.size() > 1 ? "s" : "",
                                 fmt::join(different, ", "), different.size() > 1 ? "have" : "has"),
                     advice);
  }
}

}  // namespace

NumbersDigest& CommonData::item(std::string name) {
  names_.push_back(std::move(name));
  return digests_.emplace_back(clients_.digest_key(), threads_);
}

void CommonData::require_same(const std::string& advice) {
  std::string mine;
  for (NumbersDigest& numbers : digests_) {
    const Digest digest = numbers.digest();
    mine.append(reinterpret_cast<const char*>(&digest), sizeof digest);
  }
  const std::vector<std::size_t> bytes(clients_.size(), mine.size());
  const std::string told = clients_.of(Payload::options).allgather_bytes(mine, bytes);
  std::vector<Digest> all(told.size() / sizeof(Digest));
  std::copy_n(told.data(), told.size(), reinterpret_cast<char*>(all.data()));  // perhaps none
  agree(clients_, [&] { refuse_differences(names_, all, advice); });
}

}  // namespace fedsinkhorn
