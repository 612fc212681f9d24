// Clients that fall silent, die or throw, each a process under mpirun.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/stopwatch.hpp"
#include "support/mpirun_status.hpp"

namespace fedsinkhorn::test {
namespace {

/// Seconds that mpirun may need, also for its own end (support/mpirun.py).
constexpr double kForMpirun = 30;

struct Ended {
  int status = -1;
  std::string output;
  double seconds = 0;
};

Ended run_clients(int clients, const std::string& arguments) {
  const Timer timer;
  const std::string command =
      std::string(FEDSINKHORN_MPIRUN) + " " + std::to_string(clients) + " " FEDSINKHORN_MPI_PROGRAM " " + arguments;
  Ended run;
  FILE* const pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) run.output += static_cast<char>(c);
  const int status = ::pclose(pipe);
  run.status = testing::status_of_ranks(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), run.output);
  run.seconds = timer.seconds();
  return run;
}

/// Gone, or dead and waiting for its parent to notice.
bool is_dead(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return true;
  return stat.find(") Z") != std::string::npos;
}

std::string silent_process(const std::string& output) {
  const std::size_t at = output.find("silent: ");
  if (at == std::string::npos) return "";
  const std::size_t number = at + std::string("silent: ").size();
  return output.substr(number, output.find('\n', number) - number);
}

/// mpirun kills it; the system may need a moment.
void expect_silent_one_dead(const Ended& run) {
  const std::string process = silent_process(run.output);
  ASSERT_FALSE(process.empty()) << run.output;
  const Timer timer;
  while (!is_dead(process) && timer.seconds() < 30) std::this_thread::yield();
  EXPECT_TRUE(is_dead(process));
}

TEST(MpiFaults, AStoppedClientIsNamedAndTakenDown) {
  const Ended run = run_clients(4, "stop 2 2");
  EXPECT_EQ(run.status, 4) << run.output;
  EXPECT_NE(run.output.find(": client 2 has not answered for 2 s\n"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("although all clients answer"), std::string::npos) << run.output;
  EXPECT_LT(run.seconds, 2 + 5 + kForMpirun) << run.output;
  expect_silent_one_dead(run);
}

/// Said once, and nobody is left.
void expect_no_start(const Ended& run) {
  EXPECT_EQ(run.status, 4) << run.output;
  const std::string line = "fedsinkhorn: the clients did not all start within 2 s\n";
  const std::size_t at = run.output.find(line);
  EXPECT_NE(at, std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("fedsinkhorn:", at + 1), std::string::npos) << "said more than once\n" << run.output;
  EXPECT_LT(run.seconds, 2 + 5 + kForMpirun) << run.output;
  expect_silent_one_dead(run);
}

TEST(MpiFaults, AClientThatStopsBeforeMpiStartsIsNotWaitedForForEver) { expect_no_start(run_clients(4, "start 2 2")); }

// The one that speaks otherwise.
TEST(MpiFaults, AFirstClientThatStopsBeforeMpiStartsIsNotWaitedForForEver) {
  expect_no_start(run_clients(3, "start 0 2"));
}

TEST(MpiFaults, AClientThatDoesNotComeToTheEndIsNotWaitedForForEver) {
  const Ended run = run_clients(3, "last 1 2");
  EXPECT_EQ(run.status, 4) << run.output;
  EXPECT_NE(run.output.find("another client did not come to the end within 2 s\n"), std::string::npos) << run.output;
  EXPECT_LT(run.seconds, 2 + 5 + kForMpirun) << run.output;
}

TEST(MpiFaults, AKilledClientEndsAll) {
  const Ended run = run_clients(3, "kill 1 100");
  EXPECT_NE(run.status, 0) << run.output;
  EXPECT_LT(run.seconds, 60) << run.output;
}

TEST(MpiFaults, AClientThatThrowsEndsAll) {
  const Ended run = run_clients(3, "throw 1 100");
  EXPECT_EQ(run.status, 1) << run.output;
  // Whoever ends first says so; mpirun may take the others down before they do.
  EXPECT_NE(run.output.find(": the cause\n"), std::string::npos) << run.output;
  EXPECT_LT(run.seconds, 60) << run.output;
}

TEST(MpiFaults, AMessageOfAnotherSizeEndsAll) {
  const Ended run = run_clients(2, "size 1 100");
  EXPECT_EQ(run.status, 4) << run.output;
  EXPECT_NE(run.output.find("client 1 sent a message of 0 bytes where 800000 were expected"), std::string::npos)
      << run.output;
  EXPECT_LT(run.seconds, 60) << run.output;
}

}  // namespace
}  // namespace fedsinkhorn::test
