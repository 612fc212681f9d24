#include "cli/truncated_input.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

#include "cli/exit_status.hpp"
#include "cli/speaker.hpp"
#include "io/mapped_files.hpp"

namespace fedsinkhorn {
namespace {

// Determined in advance: a signal handler must not.
std::atomic<bool> is_terminal = false;
std::atomic<bool> speaks = true;
std::atomic_flag is_ending = ATOMIC_FLAG_INIT;

void let_another_speak_from_handler() {
  timespec wait{2, 0};
  while (nanosleep(&wait, &wait) != 0) {
  }
}

extern "C" void on_bus_error(int, siginfo_t* info, void*) {
  const char* name = file_mapped_at(info->si_addr);
  if (name == nullptr) {  // not one of our files: the signal recurs and ends the process
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  if (is_ending.test_and_set()) {
    for (;;) pause();  // another thread is already reporting it
  }
  // Ranks that read the same file get the same signal. As soon as the first has ended, mpirun kills the rest.
  if (!speaks) let_another_speak_from_handler();
  std::array<char, 512> line{};
  std::strcat(line.data(), is_terminal ? "\r\033[K" : "");
  std::strcat(line.data(), "fedsinkhorn: ");
  std::strcat(line.data(), name);  // at most 255 characters
  std::strcat(line.data(),
              ": became shorter while it was being read, or its disk failed; start again with the whole file\n");
  const ssize_t written = write(STDERR_FILENO, line.data(), std::strlen(line.data()));
  static_cast<void>(written);
  _exit(kBadInput);
}

}  // namespace

void report_truncated_inputs() {
  is_terminal = isatty(STDERR_FILENO) != 0;
  speaks = speaks_for_all();
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace fedsinkhorn
