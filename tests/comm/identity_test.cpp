#include "comm/identity.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/secure_sums.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/line_of.hpp"
#include "support/repeatable_random.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;
using test::line_of;

class InAFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("identity-" + fingerprint_of(new_identity().public_key));
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_read | fs::perms::owner_write);
    return folder_ / name;
  }

  fs::path folder_;
};

using IdentityFile = InAFolder;
using Fingerprints = InAFolder;

TEST_F(IdentityFile, GivesBackWhatWasWritten) {
  const Identity identity = new_identity();
  const fs::path path = folder_ / "client.key";
  write_identity(path, identity);
  EXPECT_EQ(read_identity(path).public_key, identity.public_key);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_NE(fingerprint_of(identity.public_key), fingerprint_of(new_identity().public_key));
}

TEST_F(IdentityFile, IsNotReplaced) {
  const fs::path path = write("client.key", "precious");
  EXPECT_NE(line_of<InputError>([&] { write_identity(path, new_identity()); }).find("does not exist yet"),
            std::string::npos);
  std::string left;
  std::getline(std::ifstream(path), left);
  EXPECT_EQ(left, "precious");
}

TEST_F(IdentityFile, OfAnotherKindIsRefused) {
  EXPECT_NE(line_of<InputError>([&] { (void)read_identity(folder_ / "missing"); }).find("cannot be read"),
            std::string::npos);
  const std::string key(64, 'a');
  for (const std::string& text :
       {std::string("\n"), key, "fedsinkhorn-key-2 " + key.substr(1), "fedsinkhorn-key-3 " + key,
        "fedsinkhorn-key-2 " + key + "aa", "fedsinkhorn-key-2 " + std::string(64, 'x')}) {
    const fs::path path = write("client.key", text);
    EXPECT_NE(line_of<InputError>([&] { (void)read_identity(path); }).find("is no key"), std::string::npos) << text;
  }
}

TEST_F(IdentityFile, OfAnEarlierVersionIsRefused) {
  const fs::path path = write("client.key", "fedsinkhorn-key-1 " + std::string(64, 'a') + "\n");
  EXPECT_EQ(line_of<InputError>([&] { (void)read_identity(path); }),
            path.string() +
                ": is a key of an earlier version, which cannot sign; make a new one with 'fedsinkhorn "
                "privacy key', and tell the other clients its fingerprint");
}

TEST(Identities, SignForThemselvesOnly) {
  const Identity identity = new_identity();
  const Signature signature = sign(identity, "a line");
  EXPECT_TRUE(is_signature(signature, identity.public_key, "a line"));
  EXPECT_FALSE(is_signature(signature, identity.public_key, "a lime"));
  EXPECT_FALSE(is_signature(signature, new_identity().public_key, "a line"));
  EXPECT_FALSE(is_signature(signature, PublicKey{}, "a line"));
  EXPECT_FALSE(is_signature(Signature{}, PublicKey{}, "a line"));
}

TEST_F(IdentityFile, IsNotForOthersToRead) {
  const fs::path path = folder_ / "client.key";
  write_identity(path, new_identity());
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(line_of<InputError>([&] { (void)read_identity(path); }).find("chmod 600"), std::string::npos);
}

// A list that was cut off must not turn recognition off.
TEST_F(Fingerprints, AreNeeded) {
  for (const char* text : {"", "\n", "# nobody\n"}) {
    const fs::path path = write("all", text);
    EXPECT_NE(line_of<InputError>([&] { (void)read_fingerprints(path); }).find("has no fingerprints"),
              std::string::npos);
  }
}

TEST_F(Fingerprints, AreReadLineByLine) {
  const std::string one(32, '1');
  const std::string two(32, 'f');
  EXPECT_EQ(read_fingerprints(write("all", "# banks\n" + one + " bank A\r\n\n" + two + "\n")),
            (std::vector<std::string>{one, two}));
  for (const std::string& wrong : {one + "1", one.substr(1), std::string(32, 'F'), std::string("bank A")}) {
    const fs::path path = write("all", one + "\n" + wrong + "\n");
    EXPECT_NE(line_of<InputError>([&] { (void)read_fingerprints(path); }).find("line 2 is no fingerprint"),
              std::string::npos);
  }
}

/// What clients complain about; empty if nothing.
std::string complaint(const std::array<Trust, 2>& trust) {
  std::string line;
  try {
    run_on_threads(2, Seconds(60), [&](Communicator& communicator) {
      SecureSums sums(make_peer_summing(communicator), trust[communicator.rank()]);
      std::vector<double> numbers = {1.5};
      sums.add_up(Payload::sum, kStatistic, numbers);
      EXPECT_EQ(numbers[0], 3);
    });
  } catch (const std::runtime_error& error) {
    line = error.what();
  }
  return line;
}

std::array<Trust, 2> each_other() {
  std::array<Trust, 2> trust;
  std::vector<std::string> fingerprints;
  for (Trust& of_client : trust) {
    of_client.own = new_identity();
    fingerprints.push_back(fingerprint_of(of_client.own->public_key));
  }
  for (Trust& of_client : trust) of_client.fingerprints = fingerprints;
  return trust;
}

TEST(Recognition, OfTheRightClients) {
  EXPECT_EQ(complaint(each_other()), "");
  EXPECT_EQ(complaint({}), "");
}

TEST(Recognition, FailsWithAnotherKey) {
  std::array<Trust, 2> trust = each_other();
  trust[1].own = new_identity();
  trust[1].fingerprints.clear();  // it does not notice by itself
  EXPECT_NE(complaint(trust).find("client 1 sent a key that has not the fingerprint given for it"), std::string::npos);
  trust[1].own.reset();
  EXPECT_NE(complaint(trust).find("client 1 sent a key that has not the fingerprint given for it"), std::string::npos);
}

TEST(Recognition, FailsForAKeyOfOnesOwnThatOthersDoNotExpect) {
  std::array<Trust, 2> trust = each_other();
  trust[1].own = new_identity();
  trust[0].fingerprints.clear();
  const std::string line = complaint(trust);
  EXPECT_NE(line.find("key: has the fingerprint " + fingerprint_of(trust[1].own->public_key)), std::string::npos)
      << line;
  trust = each_other();
  trust[1].fingerprints.pop_back();
  EXPECT_NE(complaint(trust).find("fingerprints: has 1 of them; there are 2 clients"), std::string::npos);
}

// Public keys and fingerprints are known to everybody in the middle. It does not matter whether they were expected.
TEST(Recognition, TakesMoreThanThePublicKey) {
  std::array<Trust, 2> trust = each_other();
  const PublicKey expected = trust[1].own->public_key;
  trust[1].own = new_identity();
  trust[1].own->public_key = expected;
  EXPECT_NE(complaint(trust).find("client 1 sent a signature that is not of its key"), std::string::npos);
  for (Trust& of_client : trust) of_client.fingerprints.clear();
  EXPECT_NE(complaint(trust).find("client 1 sent a signature that is not of its key"), std::string::npos);
}

TEST(Recognition, IsForThoseWhoExpectIt) {
  std::array<Trust, 2> trust = each_other();
  for (Trust& of_client : trust) of_client.fingerprints.clear();
  EXPECT_EQ(complaint(trust), "");
  trust[0].own.reset();
  EXPECT_EQ(complaint(trust), "");
}

// ---------------------------------------------------------------------------------------------------------------------
// Somebody between two clients, who has the key of client 0

struct HasSaidEnough {};

/// What a client says about itself, and its signature.
struct Said {
  std::string introduction;
  std::string signature;
};

[[noreturn]] void refuse(std::size_t client, const std::string& sent) {
  throw ClientLost("client " + std::to_string(client) + " sent " + sent, {client});
}

/// Of client 1, if it hears that of client 0.
Said said_to(const std::string& introduction, const Trust& trust) {
  Said said;
  const MaskKeys::Relay relay = [&](const std::string& mine) {
    if (!said.introduction.empty()) {
      said.signature = mine;
      throw HasSaidEnough();
    }
    said.introduction = mine;
    return introduction + mine;
  };
  EXPECT_THROW(MaskKeys(1, 2, trust, relay, refuse), HasSaidEnough);
  return said;
}

/// What client 0 says about client 1 if it hears what `middle` makes of its introduction; "fine" if nothing. Without a
/// signature it gets its own.
std::string verdict(const Trust& trust, const std::function<Said(const std::string& introduction)>& middle) {
  Said said;
  int call = 0;
  const MaskKeys::Relay relay = [&](const std::string& mine) {
    if (call == 0) said = middle(mine);
    const std::array<std::string, 2> heard = {said.introduction, said.signature.empty() ? mine : said.signature};
    const std::string other = call < 2 ? heard.at(static_cast<std::size_t>(call)) : mine;
    ++call;
    return mine + other;
  };
  return line_of<ClientLost>([&] { const MaskKeys keys(0, 2, trust, relay, refuse); }, "fine");
}

/// With another key of the session, whose secret somebody in the middle has.
std::string with_another_key(std::string introduction) {
  PublicKey key;
  SecretKey secret;
  crypto_box_keypair(key.data(), secret.data());
  return introduction.replace(0, key.size(), reinterpret_cast<const char*>(key.data()), key.size());
}

TEST(StolenKey, IsItsOwnerToOthersButNobodyElseToItsOwner) {
  std::array<Trust, 2> trust = each_other();
  const Identity stolen = *trust[0].own;
  EXPECT_EQ(complaint(trust), "");  // client 1 cannot know who has the key of client 0
  const std::string refusal = "client 1 sent a signature that is not of its key";
  for (const bool expects : {true, false}) {
    if (!expects) trust[0].fingerprints.clear();
    const auto honest = [&](const std::string& introduction) { return said_to(introduction, trust[1]); };
    EXPECT_EQ(verdict(trust[0], honest), "fine");
    const auto signed_with_stolen_key = [&](const std::string& introduction) {
      return said_to(introduction, {.own = Identity{stolen.secret, trust[1].own->public_key}});
    };
    EXPECT_EQ(verdict(trust[0], signed_with_stolen_key), refusal);
    const auto signed_by_client_0 = [&](const std::string& introduction) {
      return Said{with_another_key(said_to(introduction, trust[1]).introduction), ""};
    };
    EXPECT_EQ(verdict(trust[0], signed_by_client_0), refusal);
    const auto with_another_session_key = [&](const std::string& introduction) {
      const Said said = said_to(introduction, trust[1]);
      return Said{with_another_key(said.introduction), said.signature};
    };
    EXPECT_EQ(verdict(trust[0], with_another_session_key), refusal);
    // Client 1 takes somebody else for client 0.
    const auto on_both_sides = [&](const std::string& introduction) {
      const Said said = said_to(with_another_key(introduction), trust[1]);
      return Said{with_another_key(said.introduction), said.signature};
    };
    EXPECT_EQ(verdict(trust[0], on_both_sides), refusal);
    const auto without_signature = [&](const std::string& introduction) {
      return Said{with_another_key(said_to(introduction, trust[1]).introduction), std::string(64, '\0')};
    };
    EXPECT_EQ(verdict(trust[0], without_signature), refusal);
  }
}

TEST(SignatureOfAnotherSession, IsRefused) {
  const std::array<Trust, 2> trust = each_other();
  Said earlier;
  const auto once = [&](const std::string& introduction) { return earlier = said_to(introduction, trust[1]); };
  EXPECT_EQ(verdict(trust[0], once), "fine");
  EXPECT_EQ(verdict(trust[0], [&](const std::string&) { return earlier; }),
            "client 1 sent a signature that is not of its key");
}

/// Exchanges the signatures of clients 1 and 2.
class SwappingSumming final : public Summing {
 public:
  explicit SwappingSumming(std::unique_ptr<Summing> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] Communicator& clients() const override { return inner_->clients(); }
  [[nodiscard]] std::string relay(const std::string& mine) override {
    std::string all = inner_->relay(mine);
    const std::size_t size = mine.size();
    if (size == sizeof(Signature)) all = all.substr(0, size) + all.substr(2 * size) + all.substr(size, size);
    return all;
  }
  void add_up(Payload kind, std::uint64_t counter, std::span<Word> words) override {
    inner_->add_up(kind, counter, words);
  }

 private:
  std::unique_ptr<Summing> inner_;
};

TEST(SignatureOfAnotherClient, IsRefused) {
  const std::array<Identity, 3> identities = {new_identity(), new_identity(), new_identity()};
  const auto run = [&](const auto& make_summing) {
    run_on_threads(3, Seconds(60), [&](Communicator& communicator) {
      const SecureSums sums(make_summing(communicator), {.own = identities[communicator.rank()]});
    });
  };
  EXPECT_NO_THROW(run([](Communicator& communicator) { return make_peer_summing(communicator); }));
  const std::string line = line_of<ClientLost>([&] {
    run([](Communicator& communicator) { return std::make_unique<SwappingSumming>(make_peer_summing(communicator)); });
  });
  EXPECT_NE(line.find("a signature that is not of its key"), std::string::npos) << line;
}

// ---------------------------------------------------------------------------------------------------------------------

/// Of both clients of a pair, if that is the secret their keys come from.
SecretKey pair_key_from(const SecretKey& shared, const std::string& introductions) {
  constexpr std::string_view kName = "fedsinkhorn sums 2";
  const auto raw = [](const auto& text) { return reinterpret_cast<const unsigned char*>(text.data()); };
  std::array<unsigned char, 32> transcript{};
  crypto_generichash(transcript.data(), transcript.size(), raw(introductions), introductions.size(), raw(kName),
                     kName.size());
  std::vector<unsigned char> text(transcript.begin(), transcript.end());
  text.resize(text.size() + 2 * sizeof(std::uint64_t));
  text[transcript.size() + sizeof(std::uint64_t)] = 1;  // clients 0 and 1
  SecretKey key;
  crypto_generichash(key.data(), SecretKey::kSize, text.data(), text.size(), shared.data(), SecretKey::kSize);
  return key;
}

/// What client 1 adds to a word of 0, with that key.
Word mask_from(const SecretKey& key) {
  std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  nonce[2] = static_cast<unsigned char>(Payload::sum);
  Word word = 0;
  crypto_stream_chacha20_ietf(reinterpret_cast<unsigned char*>(&word), sizeof word, nonce.data(), key.data());
  return Word{0} - word;
}

// Whoever has recorded a run and steals both keys afterwards has all but the secrets of the session.
TEST(StolenKeys, OpenNoEarlierRun) {
  const testing::RepeatableRandom repeatable;
  const std::array<Trust, 2> trust = each_other();
  std::array<SecretKey, 2> of_session;
  std::array<PublicKey, 2> public_of_session{};
  std::string introductions;
  Word masked = 0;
  run_on_threads(2, Seconds(60), [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    testing::draw_as_client(me);
    crypto_box_keypair(public_of_session[me].data(), of_session[me].data());
    testing::draw_as_client(me);
    const std::unique_ptr<Summing> summing = make_peer_summing(communicator);
    const MaskKeys::Relay relay = [&](const std::string& mine) {
      std::string all = summing->relay(mine);
      if (me == 0 && introductions.empty()) introductions = all;
      return all;
    };
    const MaskKeys keys(me, 2, trust[me], relay, refuse);
    if (me == 1) keys.mask(Payload::sum, 0, {&masked, 1});
  });
  std::array<SecretKey, 2> of_identity;
  std::array<PublicKey, 2> public_of_identity{};
  for (std::size_t k = 0; k < 2; ++k) {
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> signing{};
    PublicKey same{};
    crypto_sign_seed_keypair(same.data(), signing.data(), trust[k].own->secret.data());
    ASSERT_EQ(crypto_sign_ed25519_sk_to_curve25519(of_identity[k].data(), signing.data()), 0);
    ASSERT_EQ(crypto_sign_ed25519_pk_to_curve25519(public_of_identity[k].data(), same.data()), 0);
  }
  const auto mask_with = [&](const SecretKey& own, const PublicKey& other) {
    SecretKey shared;
    EXPECT_EQ(crypto_scalarmult(shared.data(), own.data(), other.data()), 0);
    return mask_from(pair_key_from(shared, introductions));
  };
  EXPECT_TRUE(masked == mask_with(of_session[0], public_of_session[1]));  // nobody has that any more
  EXPECT_FALSE(masked == mask_with(of_identity[0], public_of_identity[1]));
  EXPECT_FALSE(masked == mask_with(of_identity[0], public_of_session[1]));
  EXPECT_FALSE(masked == mask_with(of_identity[1], public_of_session[0]));
  EXPECT_FALSE(masked == mask_from(pair_key_from(SecretKey{}, introductions)));
}

}  // namespace
}  // namespace fedsinkhorn
