// An open file of the system.
#pragma once

#include <unistd.h>

namespace fedsinkhorn {

/// Closes it in the end; a negative number is none.
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
