// Run under mpirun by the tests.
//   comm-mpi-conformance check      all checks; status 0 if they hold
//   comm-mpi-conformance faults     the same on a bad network
//   comm-mpi-conformance start R T  client R stops before MPI is started
//   comm-mpi-conformance stop R T   client R stops, the others wait for it with a time limit of T seconds
//   comm-mpi-conformance last R T   client R stops when all messages are through, before MPI is finalised
//   comm-mpi-conformance kill R T   client R is killed
//   comm-mpi-conformance throw R T  client R throws
//   comm-mpi-conformance size R T   client R sends a message of the wrong size
// The faults must end in a lost client (status 4) or another failure (status 1). A client that lives prints what it
// threw, one that falls silent its process number.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/conformance.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/faults.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn::test {
namespace {

void fall_silent(int signal) {
  fmt::print(stderr, "silent: {}\n", ::getpid());
  std::raise(signal);
}

void fail_on_purpose(const std::string& fault, Communicator& communicator) {
  if (fault == "throw") throw std::runtime_error("the cause");
  if (fault == "size") {
    for (std::size_t k = 0; k < communicator.size(); ++k) {
      if (k != communicator.rank()) communicator.send({}, k, on(Tag::first_free));
    }
    return;
  }
  fall_silent(fault == "kill" ? SIGKILL : SIGSTOP);
}

void run_checks(Communicator& communicator) {
  for (const Check& check : all_checks()) {
    try {
      check.run(communicator);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}", check.name, error.what()));
    }
  }
}

void run(const std::vector<std::string>& arguments, Communicator& communicator) {
  if (arguments.at(0) == "check") return run_checks(communicator);
  if (arguments[0] == "faults") return run_checks(BadNetwork(communicator, 1).communicator());
  const std::size_t culprit = std::stoul(arguments.at(1));
  Collectives(communicator).barrier();
  const bool fails_last = arguments[0] == "last";
  if (communicator.rank() == culprit && !fails_last) fail_on_purpose(arguments[0], communicator);
  // One of the large messages of a solve, under way in both directions.
  std::vector<double> values(100'000);
  if (arguments[0] == "size")
    communicator.receive(std::as_writable_bytes(std::span(values)), culprit, on(Tag::first_free));
  Collectives(communicator).of(Payload::note).allreduce(values);
  if (communicator.rank() == culprit && fails_last) fail_on_purpose(arguments[0], communicator);
}

[[noreturn]] void end(int status, const Communicator& communicator, const char* line) {
  fmt::print(stderr, "client {}: {}\n", communicator.rank(), line);
  std::_Exit(status);
}

int run_and_end(const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "start" && rank_given_by_mpi() == std::stoul(arguments.at(1))) fall_silent(SIGSTOP);
  const auto communicator = make_mpi_communicator(Seconds(arguments.size() > 2 ? std::stod(arguments[2]) : 120));
  try {
    run(arguments, *communicator);
  } catch (const ClientLost& error) {
    end(4, *communicator, error.what());
  } catch (const std::exception& error) {
    communicator->give_up(false, error.what());
    end(1, *communicator, error.what());
  }
  return 0;
}

}  // namespace
}  // namespace fedsinkhorn::test

int main(int argc, char** argv) { return fedsinkhorn::test::run_and_end({argv + 1, argv + argc}); }
