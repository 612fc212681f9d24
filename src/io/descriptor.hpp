// A file descriptor.
#pragma once

#include <unistd.h>

namespace fedsinkhorn {

/// Closes it in the destructor; a negative value is no descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

}  // namespace fedsinkhorn
