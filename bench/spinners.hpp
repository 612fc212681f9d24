// Processes that keep cores busy.
#pragma once

#include <memory>
#include <vector>

#include "child_process.hpp"

namespace fedsinkhorn::bench {

/// They rest at first. They end with the object, and also when this process dies.
class Spinners {
 public:
  explicit Spinners(int count);

  /// Returns when all of them do.
  void spin();
  void rest();

 private:
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

/// What one of them does: this program, started as `fedsinkhorn-bench --spin`. "spin" and "rest" come by standard
/// input and are repeated as an answer.
void run_spinning_child();

}  // namespace fedsinkhorn::bench
