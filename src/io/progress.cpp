#include "io/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace fedsinkhorn {
namespace {

std::string duration(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void TimeLeft::add(const Progress& progress) {
  const bool starts_anew =  // another epsilon, or targets solved one after the other
      progress.epsilon != first_.epsilon || progress.iteration < last_.iteration || progress.seconds < last_.seconds;
  if (!begun_ || starts_anew) {
    errors_.clear();
    first_ = progress;
    begun_ = true;
  }
  last_ = progress;
  errors_.add(progress.seconds, progress.error_b);  // compared with the tolerance
}

double TimeLeft::to_the_limit() const {
  const auto made = static_cast<double>(last_.iteration - first_.iteration);
  if (made < 1) return std::numeric_limits<double>::infinity();
  return static_cast<double>(last_.max_iterations - last_.iteration) * (last_.seconds - first_.seconds) / made;
}

std::optional<double> TimeLeft::seconds() const {
  std::optional<double> left;
  if (!begun_ || last_.is_on_the_way) return left;
  if (!(last_.tolerance > 0)) {
    left = to_the_limit();
  } else if (const std::optional<ErrorTrend> trend = error_trend(errors_.samples())) {
    const double since = last_.seconds - errors_.samples().back().at;
    left = std::min(std::max(0.0, trend->until(std::log(last_.tolerance)) - since), to_the_limit());
    // A trend observed for a second says nothing about the next hour.
    constexpr double reach = 20;
    if (*left > reach * (last_.seconds - first_.seconds)) left.reset();
  }
  if (left && !std::isfinite(*left)) left.reset();
  return left;
}

std::string progress_text(const Progress& progress, std::optional<double> seconds_left, std::size_t width) {
  const double speed = progress.seconds > 0 ? static_cast<double>(progress.iteration) / progress.seconds : 0;
  std::array parts = {
      fmt::format("iteration {}", progress.iteration),
      std::isnan(progress.error_b) ? "" : fmt::format("  error {:.2e}", progress.error_b),
      fmt::format("  {:.3g} it/s", speed),
      progress.is_on_the_way ? fmt::format("  at epsilon {:.2g}", progress.epsilon) : "",
      progress.targets_left > 1 ? fmt::format("  {} targets left", progress.targets_left) : "",
      seconds_left ? "  about " + duration(*seconds_left) + " left" : "",
  };
  const auto line = [&] {
    std::string text;
    for (const std::string& part : parts) text += part;
    return text;
  };
  constexpr std::array<std::size_t, 5> least_important_first = {2, 4, 3, 5, 1};
  for (const std::size_t part : least_important_first) {
    if (line().size() > width) parts[part].clear();
  }
  return line().substr(0, width);
}

std::size_t terminal_width(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
  const std::string_view text = columns == nullptr ? "" : columns;
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  return width > 0 ? width : 80;
}

RewrittenLine::RewrittenLine(std::FILE* stream) : stream_(stream), terminal_(isatty(fileno(stream)) != 0) {}

RewrittenLine::~RewrittenLine() { clear(); }

void RewrittenLine::clear() {
  if (!drawn_ || !terminal_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

void RewrittenLine::update(double seconds, const std::function<std::string(std::size_t width)>& text_of) {
  if (seconds < next_) return;
  if (terminal_) {
    // The last column stays free: some terminals begin a new line after it.
    fmt::print(stream_, "\r{}\033[K", text_of(terminal_width(stream_) - 1));
    next_ = seconds + 0.1;
  } else {
    fmt::print(stream_, "{}\n", text_of(std::string::npos));
    next_ = seconds + std::max(2.0, seconds);  // 0.5, 2.5, 5, 10, 20, ... seconds
  }
  std::fflush(stream_);
  drawn_ = true;
}

void ProgressLine::update(const Progress& progress) {
  time_left_.add(progress);
  line_.update(progress.seconds,
               [&](std::size_t width) { return progress_text(progress, time_left_.seconds(), width); });
}

}  // namespace fedsinkhorn
