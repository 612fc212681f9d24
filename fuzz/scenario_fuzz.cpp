// libFuzzer target for scenario files: each is refused with one line that names the file, or describes a network that
// can be simulated.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/scenario.hpp"
#include "io/parse_scenario.hpp"

namespace {

using namespace fedsinkhorn;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

/// A few messages each way.
void simulate(const Scenario& scenario) {
  try {
    run_simulated(2, Seconds(60), scenario, [](Communicator& communicator) {
      std::array<std::byte, 64> bytes{};
      const std::size_t other = 1 - communicator.rank();
      for (int round = 0; round < 3; ++round) {
        communicator.worked(10);
        const auto sent = communicator.start_send(bytes, other, {Tag::slice, Payload::slice});
        std::array<std::byte, 64> received{};
        communicator.receive(received, other, {Tag::slice, Payload::slice});
        communicator.wait(*sent);
      }
      require(!(communicator.now() < 0));
    });
  } catch (const ClientLost&) {  // lost, slow or paused, as the scenario says
  }
}

}  // namespace

// libFuzzer looks the function up by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {  // NOLINT(readability-identifier-naming)
  // Chars may alias bytes, so this is the same memory seen as text.
  const std::string text(reinterpret_cast<const char*>(data), size);
  Scenario scenario;
  try {
    scenario = parse_scenario(text, "fuzz.json");
    check_scenario(scenario, 2);
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    require(line.starts_with("fuzz.json: ") || line.starts_with("--scenario: "));
    require(std::none_of(line.begin(), line.end(), [](char c) { return c == '\n'; }));
    return 0;
  }
  simulate(scenario);
  return 0;
}
