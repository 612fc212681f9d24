// Keys that last, so that a client can be recognised: it signs with them (Ed25519). Needed where someone in the middle,
// such as a server, could put its own keys in the place of others'.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/secret_key.hpp"

namespace fedsinkhorn {

using PublicKey = std::array<unsigned char, 32>;

struct Identity {
  SecretKey secret;  ///< the seed of a pair of keys
  PublicKey public_key{};
};

using Signature = std::array<unsigned char, 64>;
[[nodiscard]] Signature sign(const Identity& identity, std::string_view message);
/// Whether whoever made it has the secret of that key.
[[nodiscard]] bool is_signature(const Signature& signature, const PublicKey& key, std::string_view message);

/// A new one, from random numbers of the operating system.
[[nodiscard]] Identity new_identity();

/// One line of text in a file that only its owner may read. Writing refuses to replace a file. Both throw InputError
/// naming the path.
void write_identity(const std::filesystem::path& path, const Identity& identity);
[[nodiscard]] Identity read_identity(const std::filesystem::path& path);

/// What people compare and write down: 32 hexadecimal digits of a hash of the public key.
[[nodiscard]] std::string fingerprint_of(const PublicKey& key);
/// A file of fingerprints, one line for each client, in order; empty lines and those that begin with # do not count.
/// Throws InputError naming the path.
[[nodiscard]] std::vector<std::string> read_fingerprints(const std::filesystem::path& path);

/// How a client is to be recognised, and how it recognises the others.
struct Trust {
  std::optional<Identity> own{};
  std::vector<std::string> fingerprints{};  ///< of all clients; empty: any key will do
};

/// Reads the files that are named; "{client}" in the name of a key stands for the client's number. Fingerprints need an
/// own identity. Throws InputError.
[[nodiscard]] Trust read_trust(std::string key, const std::string& fingerprints, std::size_t client);

/// Whether there is a fingerprint for each client, and the client's own one is that of its key. Throws InputError.
void require_own_key(const Trust& trust, std::size_t client, std::size_t clients);

}  // namespace fedsinkhorn
