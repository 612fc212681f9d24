// Secure sums: what leaves tells nothing, and what goes wrong on the way ends the run at all clients.
#include "comm/secure_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/forwarding.hpp"
#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "comm/watch.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

// ---------------------------------------------------------------------------------------------------------------------
// Who takes part

/// What becomes of a message on its way out. May change it; false: it is dropped. May throw.
using Meddle = std::function<bool(std::size_t to, Label label, std::vector<std::byte>& message)>;

class MeddlingCommunicator final : public ForwardingCommunicator {
 public:
  MeddlingCommunicator(Communicator& inner, const Meddle& meddle) : ForwardingCommunicator(inner), meddle_(meddle) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    if (!meddle_) return inner().start_send(data, to, label);
    std::vector<std::byte> message(data.begin(), data.end());
    if (!meddle_(to, label, message)) return std::make_unique<Kept>(to);
    return std::make_unique<Kept>(inner(), std::move(message), to, label);
  }

 private:
  class Kept final : public PeerPending {
   public:
    explicit Kept(std::size_t to) : PeerPending(to) {}
    Kept(Communicator& inner, std::vector<std::byte> message, std::size_t to, Label label)
        : PeerPending(to), message_(std::move(message)), inner_(inner.start_send(message_, to, label)) {}
    [[nodiscard]] bool done() override { return inner_ == nullptr || inner_->done(); }
    [[nodiscard]] Pending* below() override { return inner_.get(); }

   private:
    std::vector<std::byte> message_;
    std::unique_ptr<Pending> inner_;
  };

  const Meddle& meddle_;
};

using SummingBody = std::function<void(SecureSums&)>;

struct Setting {
  std::size_t clients = 3;
  bool has_server = false;
  std::vector<Identity> identities{};  ///< of the clients, who expect each other; empty: they have none
};

Trust trust_of(const Setting& setting, std::size_t client) {
  Trust trust;
  if (setting.identities.empty()) return trust;
  trust.own = setting.identities[client];
  for (const Identity& identity : setting.identities) {
    trust.fingerprints.push_back(fingerprint_of(identity.public_key));
  }
  return trust;
}

/// One process of a run: a client, or the server, which is the last.
void take_part(const Setting& setting, Communicator& network, const Meddle& meddle, const SummingBody& body) {
  MeddlingCommunicator everyone(network, meddle);
  if (!setting.has_server) {
    SecureSums sums(make_peer_summing(everyone), trust_of(setting, everyone.rank()));
    return body(sums);
  }
  everyone.keep_to_server();
  if (everyone.rank() == setting.clients) return serve_sums(everyone);
  const ServerLease lease(everyone);
  std::vector<std::size_t> members(setting.clients);
  std::iota(members.begin(), members.end(), std::size_t{0});
  const std::unique_ptr<Communicator> clients = make_group(everyone, members, 3);
  SecureSums sums(make_served_summing(everyone, *clients), trust_of(setting, everyone.rank()));
  body(sums);
}

std::size_t processes(const Setting& setting) { return setting.clients + (setting.has_server ? 1 : 0); }

/// What each process sends, by process, with its label.
struct Departed {
  std::size_t to;
  Label label;
  std::vector<std::byte> bytes;
};
using AllDeparted = std::vector<std::vector<Departed>>;

AllDeparted record(const Setting& setting, const SummingBody& body) {
  AllDeparted sent(processes(setting));
  run_on_threads(processes(setting), Seconds(60), [&](Communicator& network) {
    const Meddle note = [&](std::size_t to, Label label, std::vector<std::byte>& message) {
      sent[network.rank()].push_back({to, label, message});
      return true;
    };
    take_part(setting, network, note, body);
  });
  return sent;
}

std::vector<Word> words_in(std::span<const std::byte> bytes) {
  std::vector<Word> words(bytes.size() / sizeof(Word));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(Word));
  return words;
}

const auto kSettings = ::testing::Values(Setting{1, false}, Setting{1, true}, Setting{2, false}, Setting{2, true},
                                         Setting{3, false}, Setting{3, true}, Setting{7, false}, Setting{7, true});
const auto kSeveral = ::testing::Values(Setting{2, false}, Setting{2, true}, Setting{3, false}, Setting{3, true},
                                        Setting{7, false}, Setting{7, true});
std::string name_of_setting(const ::testing::TestParamInfo<Setting>& info) {
  return std::to_string(info.param.clients) + (info.param.has_server ? "AndAServer" : "Clients");
}

// ---------------------------------------------------------------------------------------------------------------------
// Sums (tests/comm/conformance.cpp has more, on every transport)

class Sums : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Clients, Sums, kSettings, name_of_setting);

/// Holds sums of the numbers below exactly.
__extension__ using Wide = __float128;

/// Numbers whose sum as float64 depends on the order.
std::vector<double> uneven_numbers(std::size_t client, std::size_t count) {
  Random random(5, client);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.below(50)) - 25);
  return numbers;
}

Scenario unruly(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  scenario.latency = HeavyTailedLaw{1e-4, 0.9};
  scenario.late = {0.2, 2};
  scenario.bandwidth = LogNormalLaw{1e5, 1.5};
  return scenario;
}

TEST_P(Sums, AreExactAndDoNotDependOnTheOrderOfArrival) {
  constexpr std::size_t kCount = 1500;  // every client adds up some of them
  std::vector<double> expected(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    Wide sum = 0;
    for (std::size_t k = 0; k < GetParam().clients; ++k) sum += uneven_numbers(k, kCount)[i];
    expected[i] = static_cast<double>(sum);
  }
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const auto body = [&](SecureSums& sums) {
      std::vector<double> numbers = uneven_numbers(sums.rank(), kCount);
      sums.add_up(Payload::sum, kStatistic, numbers);
      EXPECT_EQ(numbers, expected) << "client " << sums.rank() << ", seed " << seed;
    };
    run_simulated(processes(GetParam()), Seconds(1e9), unruly(seed),
                  [&](Communicator& network) { take_part(GetParam(), network, {}, body); });
  }
}

TEST_P(Sums, OfPartsOfTwoKeepBothParts) {
  record(GetParam(), [&](SecureSums& sums) {
    // 1 + 2^-80 at every client, which no float64 can hold.
    std::vector<ExactSum> numbers = {{1, 0x1p-80}};
    sums.add_up(Payload::sum, kStatistic, numbers);
    const auto clients = static_cast<double>(sums.clients());
    EXPECT_EQ(numbers[0].value, clients);
    EXPECT_EQ(numbers[0].rest, clients * 0x1p-80);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// What leaves

class Secrecy : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Clients, Secrecy, kSeveral, name_of_setting);

/// Chi-square of bytes against even ones, in standard deviations: 255 degrees of freedom.
double unevenness(std::span<const Word> words) {
  std::array<double, 256> counts{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(words.data());
  for (std::size_t i = 0; i < words.size_bytes(); ++i) ++counts[bytes[i]];
  const double expected = static_cast<double>(words.size_bytes()) / 256;
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return (sum - 255) / std::sqrt(2 * 255.0);
}
constexpr double kEven = 7;  // standard deviations: never by chance

/// The masked words of each client in the given sum, in the order of the words. Client 0 keeps some of its own where
/// clients add up: those are left out for all.
std::vector<std::vector<Word>> masked_words(const Setting& setting, const AllDeparted& sent, std::size_t number) {
  std::vector<std::vector<Word>> of_client(setting.clients);
  for (std::size_t k = 0; k < setting.clients; ++k) {
    std::size_t sums = 0;
    for (const Departed& message : sent[k]) {
      if (message.label.form != Form::masked) continue;
      if (sums++ != number) continue;
      of_client[k] = words_in(message.bytes);
    }
  }
  return of_client;
}

constexpr std::size_t kSecrets = 4000;

// The same numbers again and again. Few at a time would go to client 0 alone; with a server, all go there.
TEST(Secrecy, AnyClientsButOneSendWhatLooksRandom) {
  const Setting setting{4, true};
  const AllDeparted sent = record(setting, [](SecureSums& sums) {
    for (int time = 0; time < 2; ++time) {
      std::vector<double> numbers(kSecrets, 1.0 + static_cast<double>(sums.rank()));
      sums.add_up(Payload::sum, kShare, numbers);
      EXPECT_EQ(numbers, std::vector<double>(kSecrets, 10));
    }
  });
  const auto first = masked_words(setting, sent, 0);
  const auto second = masked_words(setting, sent, 1);
  // Every set of clients: also all of them, since a server must not read the sum.
  for (std::size_t set = 1; set < 16; ++set) {
    std::vector<Word> sum(kSecrets + 1);
    std::vector<Word> difference(kSecrets + 1);
    for (std::size_t k = 0; k < 4; ++k) {
      if ((set >> k & 1U) == 0) continue;
      ASSERT_EQ(first[k].size(), sum.size());
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += first[k][i];
        difference[i] += first[k][i] - second[k][i];
      }
    }
    EXPECT_LT(unevenness(sum), kEven) << "clients " << set;
    EXPECT_LT(unevenness(difference), kEven) << "clients " << set;
    std::ranges::sort(sum);
    EXPECT_EQ(std::ranges::adjacent_find(sum), sum.end()) << "a mask was used twice: clients " << set;
  }
}

TEST(Secrecy, KindsHaveMasksOfTheirOwn) {
  const Setting setting{2, true};
  const AllDeparted sent = record(setting, [](SecureSums& sums) {
    std::vector<double> numbers(100, 1.0);
    sums.add_up(Payload::sum, kShare, numbers);
    numbers.assign(100, 1.0);
    sums.add_up(Payload::note, kShare, numbers);
  });
  const auto sums = masked_words(setting, sent, 0);
  const auto notes = masked_words(setting, sent, 1);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NE(sums[0][i], notes[0][i]);
}

bool contains(std::span<const std::byte> bytes, std::span<const std::byte> what) {
  return std::search(bytes.begin(), bytes.end(), what.begin(), what.end()) != bytes.end();
}

TEST_P(Secrecy, NoSummandAndNoSumLeavesInPlain) {
  // Irrational, so that all bytes of a secret are used: those of 2.75, six of them 0, do occur in headers.
  const auto secret = [](std::size_t client, std::size_t i) {
    return 0.7 + static_cast<double>(client) + 1.0 / (std::numbers::pi + static_cast<double>(i));
  };
  const std::size_t count = GetParam().clients == 2 ? 140 : 60;  // of two clients, both add up
  std::vector<std::vector<std::byte>> secrets;
  const auto keep = [&](const auto& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    secrets.emplace_back(bytes.begin(), bytes.end());
  };
  for (std::size_t i = 0; i < count; ++i) {
    Word whole = 0;
    for (std::size_t k = 0; k < GetParam().clients; ++k) {
      Word word = 0;
      add_to(kShare, secret(k, i) / 10, std::span(&word, 1));
      keep(word);
      keep(secret(k, i));
      whole += word;
    }
    keep(whole);
  }
  const AllDeparted sent = record(GetParam(), [&](SecureSums& sums) {
    const std::size_t rank = sums.rank();
    std::vector<double> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = secret(rank, i) / 10;
    sums.add_up(Payload::sum, kShare, numbers);
    std::vector<double> whole(count * sums.clients());
    for (std::size_t i = 0; i < count; ++i) whole[rank * count + i] = secret(rank, i);
    sums.gather(Payload::slice, std::as_writable_bytes(std::span(whole)),
                {rank * count * sizeof(double), (rank + 1) * count * sizeof(double)});
    EXPECT_EQ(whole[0], secret(0, 0));
    EXPECT_EQ(whole.back(), secret(sums.clients() - 1, count - 1));
    std::vector<bool> flags(50, rank == 0);
    sums.any(Payload::note, flags, 1);
  });
  std::size_t masked = 0;
  for (const std::vector<Departed>& of_one : sent) {
    for (const Departed& message : of_one) {
      if (message.label.form == Form::masked) {
        ++masked;
      } else {
        EXPECT_TRUE(message.label.kind == Payload::keys || message.label.kind == Payload::control);
      }
      for (const auto& what : secrets) EXPECT_FALSE(contains(message.bytes, what));
    }
  }
  EXPECT_GE(masked, 3 * GetParam().clients);
}

// A secret flag looks like any other number; a flag at two clients like one at one client.
TEST(Secrecy, FlagsDoNotShowHowManyAreSet) {
  std::vector<bool> flags(kSecrets, true);
  const std::vector<Word> one = words_of_flags(flags);
  EXPECT_LT(unevenness(one), kEven);
  EXPECT_EQ(words_of_flags(std::vector<bool>(5, false)), std::vector<Word>(5, 0));
}

// ---------------------------------------------------------------------------------------------------------------------
// What goes wrong

struct Ended {
  enum class How { well, lost, refused, told, otherwise } how = How::well;
  std::string line;
};

/// On the simulated network, where time limits take no time. meddle: what becomes of the messages of process `culprit`.
std::vector<Ended> end_of(const Setting& setting, std::size_t culprit, const Meddle& meddle, const SummingBody& body) {
  std::vector<Ended> ended(processes(setting));
  run_simulated(processes(setting), Seconds(5), Scenario{}, [&](Communicator& network) {
    Ended& mine = ended[network.rank()];
    try {
      take_part(setting, network, network.rank() == culprit ? meddle : Meddle{}, body);
    } catch (const ClientLost& error) {
      mine = {Ended::How::lost, error.what()};
    } catch (const InputError& error) {
      mine = {Ended::How::refused, error.what()};
    } catch (const ClientFailed& error) {
      mine = {Ended::How::told, error.what()};
    } catch (const std::exception& error) {
      mine = {Ended::How::otherwise, error.what()};
    }
  });
  return ended;
}

void add_and_check(SecureSums& sums, std::size_t count, double factor) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = factor * static_cast<double>(1 + sums.rank()) / static_cast<double>(64 * (1 + i % 16));
  }
  std::vector<ExactSum> exact(count);
  for (std::size_t k = 0; k < sums.clients(); ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      exact[i].add(factor * static_cast<double>(1 + k) / static_cast<double>(64 * (1 + i % 16)));
    }
  }
  sums.add_up(Payload::sum, kStatistic, numbers);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], exact[i].total()) << "a wrong sum";
}

void six_sums(SecureSums& sums) {
  for (int round = 0; round < 3; ++round) {
    add_and_check(sums, 3, 1 + round);
    add_and_check(sums, 400, 1 + round);
  }
}

/// All meet once more: what went wrong for one of them before, all know after.
void six_sums_and_one(SecureSums& sums) {
  six_sums(sums);
  add_and_check(sums, 3, 1);
}

void expect_end(const std::vector<Ended>& ended, Ended::How how, const std::string& text = "",
                const std::vector<std::size_t>& except = {}) {
  std::size_t with_the_cause = 0;
  for (std::size_t k = 0; k < ended.size(); ++k) {
    if (std::ranges::find(except, k) != except.end()) continue;
    SCOPED_TRACE("process " + std::to_string(k) + ": " + ended[k].line);
    EXPECT_NE(ended[k].how, Ended::How::well);
    EXPECT_NE(ended[k].how, Ended::How::otherwise);
    EXPECT_FALSE(ended[k].line.empty());
    EXPECT_EQ(ended[k].line.find('\n'), std::string::npos);
    if (ended[k].how == how && ended[k].line.find(text) != std::string::npos) ++with_the_cause;
  }
  EXPECT_GE(with_the_cause, 1U) << text << " | " << ended[0].line;
}

class Faults : public ::testing::TestWithParam<Setting> {
 protected:
  static constexpr std::size_t kCulprit = 1;
  /// Meddles with masked message `number` of the culprit.
  static Meddle with_masked(std::size_t number, const std::function<bool(std::vector<std::byte>&)>& change) {
    return [=, count = std::size_t{0}](std::size_t, Label label, std::vector<std::byte>& message) mutable {
      return label.form != Form::masked || count++ != number || change(message);
    };
  }
  /// Meddles with request `number` to the server.
  static Meddle with_request(std::size_t number, const std::function<void(SumRequest&)>& change) {
    return [=, count = std::size_t{0}](std::size_t, Label label, std::vector<std::byte>& message) mutable {
      if (label.kind != Payload::control || message.size() != sizeof(SumRequest) || count++ != number) return true;
      SumRequest request;
      std::memcpy(&request, message.data(), sizeof request);
      change(request);
      std::memcpy(message.data(), &request, sizeof request);
      return true;
    };
  }
};
INSTANTIATE_TEST_SUITE_P(Clients, Faults, kSeveral, name_of_setting);

TEST_P(Faults, NoneWithoutMeddling) {
  for (const Ended& ended : end_of(GetParam(), 0, {}, six_sums)) EXPECT_EQ(ended.how, Ended::How::well) << ended.line;
}

/// As many masked messages as a client sends in six sums.
std::size_t masked_messages(const Setting& setting, std::size_t client) {
  std::size_t count = 0;
  const Meddle counter = [&](std::size_t, Label label, std::vector<std::byte>&) {
    if (label.form == Form::masked) ++count;
    return true;
  };
  (void)end_of(setting, client, counter, six_sums);
  return count;
}

TEST_P(Faults, AMessageReplayed) {
  // The last message of the same size, in the place of each.
  const std::size_t messages = masked_messages(GetParam(), kCulprit);
  std::size_t replayed = 0;
  for (std::size_t number = 1; number < messages; ++number) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::byte>> earlier;
    std::size_t count = 0;
    bool has_replayed = false;
    const Meddle replay = [&](std::size_t to, Label label, std::vector<std::byte>& message) {
      if (label.form != Form::masked) return true;
      std::vector<std::byte>& last = earlier[{to, message.size()}];
      const std::vector<std::byte> mine = message;
      if (count++ == number && !last.empty()) {
        message = last;
        has_replayed = true;
      }
      last = mine;
      return true;
    };
    const std::vector<Ended> ended = end_of(GetParam(), kCulprit, replay, six_sums_and_one);
    if (!has_replayed) continue;
    ++replayed;
    SCOPED_TRACE("message " + std::to_string(number));
    expect_end(ended, Ended::How::lost, "does not add up");
  }
  EXPECT_GT(replayed, 2U);
}

TEST_P(Faults, AMessageOfAnotherSession) {
  std::vector<std::vector<std::byte>> of_another;
  const Meddle note = [&](std::size_t, Label label, std::vector<std::byte>& message) {
    if (label.form == Form::masked) of_another.push_back(message);
    return true;
  };
  (void)end_of(GetParam(), kCulprit, note, six_sums_and_one);
  ASSERT_FALSE(of_another.empty());
  for (std::size_t number = 0; number < of_another.size(); ++number) {
    const auto change = [&](std::vector<std::byte>& message) {
      message = of_another[number];
      return true;
    };
    SCOPED_TRACE("message " + std::to_string(number));
    expect_end(end_of(GetParam(), kCulprit, with_masked(number, change), six_sums_and_one), Ended::How::lost,
               "does not add up");
  }
}

TEST_P(Faults, AChangedBit) {
  const std::size_t messages = masked_messages(GetParam(), kCulprit);
  Random random(7);
  for (std::size_t number = 0; number < messages; ++number) {
    for (const std::size_t from_end : {std::size_t{0}, random.below(16), std::size_t{100}}) {
      const auto change = [&](std::vector<std::byte>& message) {
        const std::size_t at = message.size() - 1 - from_end % message.size();
        message[at] ^= static_cast<std::byte>(1U << random.below(8));
        return true;
      };
      SCOPED_TRACE("message " + std::to_string(number));
      expect_end(end_of(GetParam(), kCulprit, with_masked(number, change), six_sums_and_one), Ended::How::lost,
                 "does not add up");
    }
  }
}

// Who adds up changes what comes back, to all or to one.
TEST_P(Faults, AChangedSum) {
  const std::size_t adder = GetParam().has_server ? GetParam().clients : 0;
  const auto change = [](std::vector<std::byte>& message) {
    message[0] ^= std::byte{1};
    return true;
  };
  for (const std::size_t number : {0U, 1U}) {
    const std::vector<Ended> ended = end_of(GetParam(), adder, with_masked(number, change), six_sums_and_one);
    expect_end(ended, Ended::How::lost, "does not add up");
  }
}

TEST_P(Faults, AMessageDropped) {
  const std::size_t messages = masked_messages(GetParam(), kCulprit);
  for (std::size_t number = 0; number < messages; ++number) {
    SCOPED_TRACE("message " + std::to_string(number));
    const auto drop = [](std::vector<std::byte>&) { return false; };
    expect_end(end_of(GetParam(), kCulprit, with_masked(number, drop), six_sums_and_one), Ended::How::lost, "");
  }
}

TEST_P(Faults, AMessageOfAnotherSize) {
  for (const std::size_t size : {0U, 16U, 4096U}) {
    const auto change = [&](std::vector<std::byte>& message) {
      message.resize(size);
      return true;
    };
    expect_end(end_of(GetParam(), kCulprit, with_masked(1, change), six_sums_and_one), Ended::How::lost,
               "client 1 sent");
  }
}

// Its numbers are masked, but it is gone before they are sent.
TEST_P(Faults, AClientThatLeavesBetweenMaskingAndSumming) {
  const std::size_t messages = masked_messages(GetParam(), kCulprit);
  for (std::size_t number = 0; number < messages; ++number) {
    SCOPED_TRACE("message " + std::to_string(number));
    const auto leave = [](std::vector<std::byte>&) -> bool { throw std::runtime_error("left"); };
    const std::vector<Ended> ended = end_of(GetParam(), kCulprit, with_masked(number, leave), six_sums_and_one);
    expect_end(ended, Ended::How::lost, "", {kCulprit});
    EXPECT_EQ(ended[kCulprit].line, "left");
  }
}

TEST_P(Faults, AServerThatLeaves) {
  if (!GetParam().has_server) return;
  const std::size_t server = GetParam().clients;
  const std::size_t messages = masked_messages(GetParam(), server);
  for (std::size_t number = 0; number < messages; ++number) {
    const auto leave = [](std::vector<std::byte>&) -> bool { throw std::runtime_error("left"); };
    const std::vector<Ended> ended = end_of(GetParam(), server, with_masked(number, leave), six_sums_and_one);
    expect_end(ended, Ended::How::lost, "the server has not answered", {server});
  }
}

TEST_P(Faults, ANumberTooLargeForItsKind) {
  for (const double number : {8.0, -8.0, 1e300, std::nan(""), HUGE_VAL}) {
    const auto body = [&](SecureSums& sums) {
      add_and_check(sums, 5, 1);
      std::vector<double> numbers = {0.5, sums.rank() == kCulprit ? number : 0.5};
      sums.add_up(Payload::sum, kShare, numbers);
      ADD_FAILURE() << "a sum of " << numbers[1];
    };
    const std::vector<Ended> ended = end_of(GetParam(), 0, {}, body);
    for (const Ended& one : ended) {
      EXPECT_EQ(one.how, Ended::How::refused) << one.line;
      EXPECT_EQ(one.line.find("secure sum: "), 0U) << one.line;
      EXPECT_EQ(one.line.find('\n'), std::string::npos);
    }
    // Only the client itself says which number.
    EXPECT_NE(ended[kCulprit].line, ended[0].line);
  }
}

TEST_P(Faults, RequestsThatDiffer) {
  if (!GetParam().has_server) return;
  const std::vector<std::pair<std::string, std::function<void(SumRequest&)>>> changes = {
      {"client 1 sent a request in a protocol not known here", [](SumRequest& request) { ++request.protocol; }},
      {"client 1 sent another request than client 0", [](SumRequest& request) { ++request.counter; }},
      {"client 1 sent another request than client 0",
       [](SumRequest& request) { request.payload = static_cast<std::uint16_t>(Payload::note); }},
      {"client 1 sent another request than client 0", [](SumRequest& request) { request.bytes += 16; }},
      {"client 1 sent a request that makes no sense", [](SumRequest& request) { request.bytes += 1; }},
      {"client 1 sent a request that makes no sense", [](SumRequest& request) { request.payload = 77; }},
      {"client 1 sent a request that makes no sense", [](SumRequest& request) { request.bytes = ~std::uint64_t{0}; }},
      {"client 1 sent a request that makes no sense",
       [](SumRequest& request) { request.kind = static_cast<SumRequest::Kind>(9); }},
      {"client 1 sent another request than client 0",
       [](SumRequest& request) { request.kind = SumRequest::Kind::leave; }},
      {"client 1 sent another request than client 0",
       [](SumRequest& request) { request.kind = SumRequest::Kind::relay; }}};
  for (const auto& [line, change] : changes) {
    for (const std::size_t number : {3U, 6U}) {  // the first three are about keys
      SCOPED_TRACE(line + ", request " + std::to_string(number));
      expect_end(end_of(GetParam(), kCulprit, with_request(number, change), six_sums_and_one), Ended::How::lost, line);
    }
  }
}

TEST_P(Faults, ClientsThatAddUpDifferentThings) {
  const auto body = [](SecureSums& sums) {
    add_and_check(sums, 5, 1);
    add_and_check(sums, sums.rank() == kCulprit ? 6 : 5, 1);
  };
  const auto other_kind = [](SecureSums& sums) {
    std::vector<Word> words(4, sums.rank());
    sums.add_up(sums.rank() == kCulprit ? Payload::note : Payload::sum, words, words.size());
    ADD_FAILURE() << "a note was added to sums";
  };
  const auto other_counter = [](SecureSums& sums) {
    std::vector<Word> words(4, sums.rank());
    if (sums.rank() != kCulprit) sums.add_up(Payload::sum, words, words.size());
    sums.add_up(Payload::sum, words, words.size());
    if (sums.rank() != kCulprit) ADD_FAILURE() << "a second sum without client 1";
  };
  expect_end(end_of(GetParam(), 0, {}, body), Ended::How::lost, "");
  expect_end(end_of(GetParam(), 0, {}, other_kind), Ended::How::lost, "");
  const std::vector<Ended> ended = end_of(GetParam(), 0, {}, other_counter);
  EXPECT_NE(ended[0].how, Ended::How::well);
}

// ---------------------------------------------------------------------------------------------------------------------
// Keys

TEST_P(Faults, AKeyThatIsNone) {
  const Meddle no_key = [count = 0](std::size_t, Label label, std::vector<std::byte>& message) mutable {
    // What clients say about themselves comes first.
    if (label.kind == Payload::keys && count == 0) {
      std::fill_n(message.begin(), 32, std::byte{0});
      ++count;
    }
    return true;
  };
  expect_end(end_of(GetParam(), kCulprit, no_key, six_sums_and_one), Ended::How::lost,
             "client 1 sent a key that is none", {kCulprit});
}

/// As client 0 of three sees it, if the others say this.
std::string complaint_about_keys(const std::function<void(std::string& all)>& change) {
  int calls = 0;
  const MaskKeys::Relay relay = [&](const std::string& mine) {
    std::string all = mine;
    // A key of the session, no identity, and a random number; then no signature; then boxes.
    for (const char key : {'\x11', '\x22'}) {
      all += std::string(32, key) + std::string(32, '\0') + std::string(mine.size() - 64, 'r');
    }
    if (calls++ == 0) change(all);
    return all;
  };
  const MaskKeys::Distrust distrust = [](std::size_t client, const std::string& sent) {
    throw ClientLost("client " + std::to_string(client) + " sent " + sent, {client});
  };
  return test::line_of<ClientLost>([&] { const MaskKeys keys(0, 3, {}, relay, distrust); }, "fine");
}

TEST(Keys, AreNotTrustedIfTheyCannotBe) {
  constexpr std::size_t of_client = 96;  // bytes that each says about itself
  EXPECT_EQ(complaint_about_keys([](std::string&) {}), "fine");
  EXPECT_EQ(complaint_about_keys([](std::string& all) { all.replace(2 * of_client, 32, all.substr(of_client, 32)); }),
            "client 2 sent the key of client 1");
  EXPECT_EQ(complaint_about_keys([](std::string& all) { all.replace(of_client, 32, all.substr(0, 32)); }),
            "client 1 sent the key of client 0");
  EXPECT_EQ(complaint_about_keys([](std::string& all) { all.replace(of_client, 32, std::string(32, '\0')); }),
            "client 1 sent a key that is none");
  EXPECT_EQ(complaint_about_keys([](std::string& all) {
              all.replace(of_client + 32, 32, std::string(32, 'i'));
              all.replace(2 * of_client + 32, 32, std::string(32, 'i'));
            }),
            "client 2 sent the key of client 1");
  EXPECT_EQ(complaint_about_keys([](std::string& all) { all.replace(of_client + 32, 32, std::string(32, 'i')); }),
            "client 1 sent a signature that is not of its key");
  std::string one(32, '\0');  // a point of small order
  one[0] = 1;
  EXPECT_EQ(complaint_about_keys([&](std::string& all) { all.replace(2 * of_client, 32, one); }),
            "client 2 sent a key that is none");
  EXPECT_NE(complaint_about_keys([](std::string& all) { all[0] ^= 1; }), "fine");   // another key in its name
  EXPECT_NE(complaint_about_keys([](std::string& all) { all[70] ^= 1; }), "fine");  // or random number
}

// Nobody can link what a session calls by a pseudonym to what another one does.
TEST(Keys, PseudonymsAreOfOneSession) {
  const std::string what = "host name";
  const auto pseudonyms = [&] {
    std::vector<std::uint64_t> of_client(3);
    record({3, false},
           [&](SecureSums& sums) { of_client[sums.rank()] = sums.pseudonym(std::as_bytes(std::span(what))); });
    return of_client;
  };
  const std::vector<std::uint64_t> once = pseudonyms();
  EXPECT_EQ(once[0], once[1]);
  EXPECT_EQ(once[0], once[2]);
  EXPECT_NE(once[0], pseudonyms()[0]);
}

class KeyMessages : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(Clients, KeyMessages, kSeveral, name_of_setting);

// Who looks on does not see whether clients know each other.
TEST_P(KeyMessages, AreAsManyAndAsLongWithIdentities) {
  Setting known = GetParam();
  while (known.identities.size() < known.clients) known.identities.push_back(new_identity());
  const AllDeparted with = record(known, six_sums);
  const AllDeparted without = record(GetParam(), six_sums);
  for (std::size_t process = 0; process < with.size(); ++process) {
    ASSERT_EQ(with[process].size(), without[process].size());
    for (std::size_t k = 0; k < with[process].size(); ++k) {
      EXPECT_EQ(with[process][k].to, without[process][k].to);
      EXPECT_EQ(with[process][k].label.kind, without[process][k].label.kind);
      EXPECT_EQ(with[process][k].bytes.size(), without[process][k].bytes.size());
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
