// What clients must have the same of: digests that do not depend on how numbers come, and who has something else.
#include "comm/common_data.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "comm/policy.hpp"
#include "comm/transports.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

SecretKey key_of(unsigned char byte) {
  SecretKey key;
  std::fill_n(key.data(), SecretKey::kSize, byte);
  return key;
}

std::vector<float> some_numbers(std::size_t count) {
  Random random(91);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random.uniform(-1, 1));
  return numbers;
}

Digest digest_of_numbers(const std::vector<double>& numbers, unsigned char key = 1) {
  NumbersDigest digest(key_of(key));
  digest.add(numbers);
  return digest.digest();
}

constexpr std::size_t kLengths[] = {0, 1, 511, 512, 513, 2048, 300'001};

TEST(NumbersDigests, DoNotDependOnHowNumbersCome) {
  Random random(92);
  for (const std::size_t count : kLengths) {
    std::vector<float> numbers = some_numbers(count);
    if (count > 0) numbers[count / 2] = -0.0F;
    std::vector<double> wide(numbers.begin(), numbers.end());
    if (count > 0) wide[count / 2] = 0;
    const Digest expected = digest_of_numbers(wide);
    for (const int threads : {1, 3}) {
      NumbersDigest of_matrix(key_of(1), threads);
      of_matrix.add(AnyMatrix(MatrixView<float>{numbers.data(), 1, count}));
      EXPECT_EQ(of_matrix.digest(), expected) << count;
      NumbersDigest in_pieces(key_of(1), threads);
      for (std::size_t first = 0; first < count;) {
        const std::size_t some = std::min<std::size_t>(count - first, random.below(count < 3000 ? 300 : 30'000));
        if (random.below(2) == 0) {
          in_pieces.add(std::span<const float>(numbers).subspan(first, some));
        } else {
          in_pieces.add(std::span<const double>(wide).subspan(first, some));
        }
        first += some;
      }
      EXPECT_EQ(in_pieces.digest(), expected) << count;
    }
  }
}

TEST(NumbersDigests, TellEverythingApart) {
  std::vector<Digest> seen;
  for (const std::size_t count : kLengths) {
    const std::vector<float> some = some_numbers(count);
    std::vector<double> numbers(some.begin(), some.end());
    seen.push_back(digest_of_numbers(numbers));
    seen.push_back(digest_of_numbers(numbers, 2));
    numbers.push_back(0);
    seen.push_back(digest_of_numbers(numbers));
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
      if (count < 2) continue;
      std::vector<double> other = numbers;
      other[at] = std::nextafter(other[at], 2);
      seen.push_back(digest_of_numbers(other));
      other = numbers;
      std::swap(other[at], other[(at + 1) % count]);
      seen.push_back(digest_of_numbers(other));
    }
  }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(Digests, DependOnKeyAndPurpose) {
  const std::string what = "host name";
  const auto of = [&](unsigned char key, const char* purpose) {
    return digest_of(key_of(key), purpose, std::as_bytes(std::span(what)));
  };
  EXPECT_EQ(of(1, "name"), of(1, "name"));
  EXPECT_NE(of(1, "name"), of(2, "name"));
  EXPECT_NE(of(1, "name"), of(1, "other"));
}

// ---------------------------------------------------------------------------------------------------------------------

/// One item per number of a client. What each client says; empty if nothing.
std::vector<std::string> complaints(const std::vector<std::vector<double>>& items, bool tells_reasons) {
  std::vector<std::string> lines(items.size());
  const auto body = [&](Communicator& network) {
    const std::size_t me = network.rank();
    PolicedCommunicator communicator(network);
    communicator.obey(std::make_unique<TablePolicy>("test", kSums, tells_reasons));
    const Collectives clients(communicator);
    CommonData data(clients);
    for (std::size_t k = 0; k < items[me].size(); ++k) {
      data.item(fmt::format("item {} of {}", k, me)).add(std::span(items[me]).subspan(k, 1));
    }
    try {
      data.require_same();
    } catch (const InputError& error) {
      lines[me] = error.what();
    }
    clients.barrier();
  };
  run_on_threads(items.size(), Seconds(60), body);
  return lines;
}

TEST(CommonDatas, ThatAgreeAreFine) {
  for (const std::string& line : complaints({{1, 2, 0.0}, {1, 2, -0.0}, {1, 2, 0}}, true)) EXPECT_EQ(line, "");
  for (const std::string& line : complaints({{1}}, true)) EXPECT_EQ(line, "");
  for (const std::string& line : complaints({{}, {}}, true)) EXPECT_EQ(line, "");
}

TEST(CommonDatas, ThatDifferAreNamed) {
  const std::string of_first = "item 1 of 0: client 2 has others than client 0; give the same to all clients";
  for (const std::string& line : complaints({{1, 2, 3}, {1, 2, 4}, {1, 5, 3}}, true)) EXPECT_EQ(line, of_first);
  const std::string of_two = "item 2 of 0: clients 1, 3 have others than client 0; give the same to all clients";
  for (const std::string& line : complaints({{1, 2, 3}, {1, 2, 4}, {1, 2, 3}, {1, 2, 5}}, true)) {
    EXPECT_EQ(line, of_two);
  }
}

// Names may be those of files, which are nobody else's business.
TEST(CommonDatas, AreNamedByEachClientForItselfIfReasonsStay) {
  const std::vector<std::string> lines = complaints({{1, 2}, {1, 2}, {1, 5}}, false);
  for (std::size_t k = 0; k < lines.size(); ++k) {
    EXPECT_EQ(lines[k],
              fmt::format("item 1 of {}: client 2 has others than client 0; give the same to all clients", k));
  }
}

}  // namespace
}  // namespace fedsinkhorn
