// OpenBLAS has buffers for so many calls at a time; more have to wait.
#pragma once

#include <cstddef>
#include <semaphore>

namespace fedsinkhorn::cpu {

/// Held during a call of OpenBLAS.
class BlasTurn {
 public:
  BlasTurn() { free_buffers().acquire(); }
  ~BlasTurn() { free_buffers().release(); }
  BlasTurn(const BlasTurn&) = delete;
  BlasTurn& operator=(const BlasTurn&) = delete;

 private:
  static constexpr std::ptrdiff_t kMostAtOnce = 64;
  static std::counting_semaphore<kMostAtOnce>& free_buffers() {
    static std::counting_semaphore<kMostAtOnce> buffers{kMostAtOnce};
    return buffers;
  }
};

}  // namespace fedsinkhorn::cpu
