#include "spinners.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

namespace fedsinkhorn::bench {
namespace {

std::atomic<double> spinner_drain;  // keeps the compiler from dropping the work

/// Until the parent says something, or is gone.
void spin_until_told() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 0) == 0) {
    double x = 1;
    for (int k = 0; k < 200'000; ++k) x = x * 0.999 + 0.001;  // a fraction of a millisecond
    spinner_drain = x;
  }
}

}  // namespace

Spinners::Spinners(int count) {
  for (int k = 0; k < count; ++k) {
    children_.push_back(std::make_unique<ChildProcess>(std::vector<std::string>{"/proc/self/exe", "--spin"}));
  }
}

void Spinners::spin() {
  for (const auto& child : children_) (void)child->ask("spin");
}

void Spinners::rest() {
  for (const auto& child : children_) (void)child->ask("rest");
}

void run_spinning_child() {
  // The end of the connection ends it as well. This is for a parent that is killed while another of its children, who
  // might have inherited the other end, lives on.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << line << std::endl;  // NOLINT(performance-avoid-endl): the parent waits for it
    if (line == "spin") spin_until_told();
  }
}

}  // namespace fedsinkhorn::bench
