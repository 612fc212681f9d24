#include <cstdio>
#include <cstdlib>

#include "cli/run_program.hpp"

// Skips the exit handlers of libraries: when memory is short, those of OpenBLAS wait forever for its threads.
int main(int argc, char** argv) {
  const int status = fedsinkhorn::run_program(argc, argv);
  std::fflush(nullptr);
  std::_Exit(status);
}
