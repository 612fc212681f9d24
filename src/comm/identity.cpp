#include "comm/identity.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kFirstWords = "fedsinkhorn-key-2 ";
/// Of keys that were not for signing.
constexpr std::string_view kOldFirstWords = "fedsinkhorn-key-1 ";
constexpr std::size_t kFingerprintBytes = 16;

void start_sodium() {
  if (sodium_init() < 0) throw std::runtime_error("the operating system gives no random numbers");
}

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  std::string text(2 * count + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes, count);
  text.pop_back();
  return text;
}

std::string printable_path(const std::filesystem::path& path) { return printable_word(path.string()); }

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) throw InputError(printable_path(path), "cannot be read");
  return line;
}

const unsigned char* raw_bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

static_assert(crypto_sign_SEEDBYTES == SecretKey::kSize && crypto_sign_PUBLICKEYBYTES == sizeof(PublicKey) &&
              crypto_sign_BYTES == sizeof(Signature));

/// As libsodium wants it, with the public key; wiped afterwards.
struct SigningKey {
  SigningKey(const SecretKey& seed, PublicKey& public_key) {
    crypto_sign_seed_keypair(public_key.data(), bytes.data(), seed.data());
  }
  ~SigningKey() { sodium_memzero(bytes.data(), bytes.size()); }
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;

  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> bytes{};
};

Identity with_public_key(const SecretKey& secret) {
  Identity identity{secret, {}};
  const SigningKey key(secret, identity.public_key);
  return identity;
}

}  // namespace

SecretKey::~SecretKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

Identity new_identity() {
  start_sodium();
  SecretKey secret;
  randombytes_buf(secret.data(), SecretKey::kSize);
  return with_public_key(secret);
}

Signature sign(const Identity& identity, std::string_view message) {
  PublicKey public_key{};
  const SigningKey key(identity.secret, public_key);
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, raw_bytes(message), message.size(), key.bytes.data());
  return signature;
}

bool is_signature(const Signature& signature, const PublicKey& key, std::string_view message) {
  return crypto_sign_verify_detached(signature.data(), raw_bytes(message), message.size(), key.data()) == 0;
}

void write_identity(const std::filesystem::path& path, const Identity& identity) {
  std::string line(kFirstWords);
  line += hexadecimal(identity.secret.data(), SecretKey::kSize) + "\n";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    throw InputError(printable_path(path), fmt::format("cannot be created: {}", std::strerror(errno)),
                     "name a file that does not exist yet");
  }
  const bool is_written = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  sodium_memzero(line.data(), line.size());
  if (::close(file) != 0 || !is_written) {
    ::unlink(path.c_str());
    throw InputError(printable_path(path), "cannot be written");
  }
}

Identity read_identity(const std::filesystem::path& path) {
  start_sodium();
  constexpr auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (!unknown && std::filesystem::exists(status) && (status.permissions() & others) != std::filesystem::perms::none) {
    throw InputError(printable_path(path), "can be read or changed by others",
                     "let only its owner do that (chmod 600)");
  }
  std::string line = first_line(path);
  if (line.starts_with(kOldFirstWords)) {
    throw InputError(printable_path(path), "is a key of an earlier version, which cannot sign",
                     "make a new one with 'fedsinkhorn privacy key', and tell the other clients its fingerprint");
  }
  SecretKey secret;
  std::size_t bytes = 0;
  const bool has_key = line.starts_with(kFirstWords) &&
                       sodium_hex2bin(secret.data(), SecretKey::kSize, line.data() + kFirstWords.size(),
                                      line.size() - kFirstWords.size(), nullptr, &bytes, nullptr) == 0 &&
                       bytes == SecretKey::kSize;
  sodium_memzero(line.data(), line.size());
  if (!has_key) throw InputError(printable_path(path), "is no key", "make one with 'fedsinkhorn privacy key'");
  return with_public_key(secret);
}

std::string fingerprint_of(const PublicKey& key) {
  std::array<unsigned char, kFingerprintBytes> hash{};
  crypto_generichash(hash.data(), hash.size(), key.data(), key.size(), nullptr, 0);
  return hexadecimal(hash.data(), hash.size());
}

std::vector<std::string> read_fingerprints(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw InputError(printable_path(path), "cannot be read");
  std::vector<std::string> fingerprints;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::string word = line.substr(0, line.find_first_of(" \t\r"));
    if (word.empty() || word.front() == '#') continue;
    if (word.size() != 2 * kFingerprintBytes || word.find_first_not_of("0123456789abcdef") != std::string::npos) {
      throw InputError(printable_path(path), fmt::format("line {} is no fingerprint", number),
                       "give 32 hexadecimal digits a line, as printed by 'fedsinkhorn privacy key'");
    }
    fingerprints.push_back(word);
  }
  if (fingerprints.empty()) {
    throw InputError(printable_path(path), "has no fingerprints", "give one for each client, a line each");
  }
  return fingerprints;
}

Trust read_trust(std::string key, const std::string& fingerprints, std::size_t client) {
  constexpr std::string_view kClient = "{client}";
  for (std::size_t at = key.find(kClient); at != std::string::npos; at = key.find(kClient, at)) {
    key.replace(at, kClient.size(), std::to_string(client));
  }
  Trust trust;
  if (!key.empty()) trust.own = read_identity(key);
  if (fingerprints.empty()) return trust;
  if (!trust.own) {
    throw InputError("`fingerprints`", "the others need a key to recognise this client by", "add `key`");
  }
  trust.fingerprints = read_fingerprints(fingerprints);
  return trust;
}

void require_own_key(const Trust& trust, std::size_t client, std::size_t clients) {
  if (trust.fingerprints.empty()) return;
  if (trust.fingerprints.size() != clients) {
    throw InputError("`fingerprints`", fmt::format("has {} of them", trust.fingerprints.size()),
                     fmt::format("there are {} clients", clients));
  }
  const std::string own = fingerprint_of(trust.own ? trust.own->public_key : PublicKey{});
  if (own != trust.fingerprints[client]) {
    throw InputError("`key`", fmt::format("has the fingerprint {}", own),
                     fmt::format("for client {} the others expect {}", client, trust.fingerprints[client]));
  }
}

}  // namespace fedsinkhorn
