// Whether the machine was ours alone. Timings from a busy one are worth little, and nobody remembers afterwards.
#pragma once

#include <string>

namespace fedsinkhorn::bench {

/// Watches from construction on.
class MachineLoad {
 public:
  MachineLoad();

  /// "others used 3 % of the processors": other processes and, as far as it tells, the hypervisor. Processes we started
  /// count as ours once they have ended. Empty where /proc/stat cannot be read.
  [[nodiscard]] std::string text() const;

 private:
  struct Used {
    double ours = 0;   ///< seconds
    double all = 0;    ///< of all processes and of the hypervisor
    double total = 0;  ///< idle time included
  };
  static Used now();

  Used start_;
};

}  // namespace fedsinkhorn::bench
