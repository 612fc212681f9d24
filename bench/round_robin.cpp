#include "round_robin.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/stopwatch.hpp"

namespace fedsinkhorn::bench {

Contender timed(std::string name, std::function<void()> work) {
  return {std::move(name), [work = std::move(work)] {
            const Timer timer;
            work();
            return timer.seconds();
          }};
}

std::vector<Timing> round_robin(const RoundRobin& settings, std::span<const Contender> contenders) {
  std::vector<Timing> timings;
  for (const Contender& contender : contenders) timings.push_back({contender.name, {}});
  for (int round = -settings.warmups; round < settings.rounds; ++round) {
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const std::size_t turn = round % 2 == 0 ? k : contenders.size() - 1 - k;
      if (settings.pause_seconds > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause_seconds));
      }
      const double seconds = contenders[turn].seconds();
      if (round >= 0) timings[turn].seconds.push_back(seconds);
    }
  }
  return timings;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) result[k] = a[k] / b[k];
  return result;
}

std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) result[k] = a[k] + b[k];
  return result;
}

}  // namespace fedsinkhorn::bench
