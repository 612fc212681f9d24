// Secret bytes.
#pragma once

#include <array>
#include <cstddef>

namespace fedsinkhorn {

/// 32 secret bytes, wiped when they are no longer needed.
class SecretKey {
 public:
  SecretKey() = default;
  ~SecretKey();
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;

  [[nodiscard]] unsigned char* data() { return bytes_.data(); }
  [[nodiscard]] const unsigned char* data() const { return bytes_.data(); }
  static constexpr std::size_t kSize = 32;

 private:
  std::array<unsigned char, kSize> bytes_{};
};

}  // namespace fedsinkhorn
