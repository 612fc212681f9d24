#include "io/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace fedsinkhorn {
namespace {

std::string duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string progress_text(const Progress& progress, double from_seconds, double from_error) {
  const double error = progress.error_b;  // what is compared with the tolerance
  const double speed = progress.seconds > 0 ? static_cast<double>(progress.iteration) / progress.seconds : 0;
  std::string text = fmt::format("iteration {}  error {:.2e}  {:.3g} it/s", progress.iteration, error, speed);
  if (progress.is_on_the_way) text += fmt::format("  at epsilon {:.2g}", progress.epsilon);
  if (progress.targets_left > 1) text += fmt::format("  {} targets left", progress.targets_left);
  double left = speed > 0 ? static_cast<double>(progress.max_iterations - progress.iteration) / speed : 0;
  const double decay = std::log(from_error / error) / (progress.seconds - from_seconds);
  if (progress.tolerance > 0 && std::isfinite(decay) && decay > 0) {
    left = std::min(left, std::max(0.0, std::log(error / progress.tolerance) / decay));
  }
  return text + "  about " + duration(left) + " left";
}

ProgressLine::ProgressLine(std::FILE* stream) : stream_(stream), terminal_(isatty(fileno(stream)) != 0) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (!drawn_ || !terminal_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

void ProgressLine::update(const Progress& progress) {
  if (progress.seconds < next_) return;
  const double error = progress.error_b;  // what is compared with the tolerance
  if (first_seconds_ < 0) {
    first_seconds_ = progress.seconds;
    first_error_ = error;
  }
  const std::string text = progress_text(progress, first_seconds_, first_error_);
  if (terminal_) {
    fmt::print(stream_, "\r{}\033[K", text);
    next_ = progress.seconds + 0.1;
  } else {
    fmt::print(stream_, "{}\n", text);
    next_ = progress.seconds + std::max(2.0, progress.seconds);  // 0.5, 2.5, 5, 10, 20, ... seconds
  }
  std::fflush(stream_);
  drawn_ = true;
}

}  // namespace fedsinkhorn
