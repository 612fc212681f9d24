#include "core/caches.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

// "512K", "32M", "1048576".
std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::size_t largest = std::size_t{1} << 40U;
  if (error != std::errc() || size == 0 || size > largest) return std::nullopt;
  if (unit.empty()) return size;
  if (unit == "K") return size << 10U;
  if (unit == "M") return size << 20U;
  return std::nullopt;
}

// Cache size of the first processor according to /sys.
std::optional<std::size_t> size_in_sys(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::ifstream level_file(folder + "level");
    std::ifstream type_file(folder + "type");
    std::ifstream size_file(folder + "size");
    int its_level = 0;
    std::string type;
    std::string size;
    if (!(level_file >> its_level && type_file >> type && size_file >> size)) continue;
    if (its_level == level && type != "Instruction") return parse_size(size);
  }
  return std::nullopt;
}

// sysconf comes second: in a virtual machine it added up the last levels of processors that do not exist.
std::optional<std::size_t> size_of_level(int level, int name) {
  if (const auto size = size_in_sys(level)) return size;
  const long size = sysconf(name);
  return size > 0 ? std::optional(static_cast<std::size_t>(size)) : std::nullopt;
}

Caches look_up() {
  Caches found;
  if (const auto size = size_of_level(2, _SC_LEVEL2_CACHE_SIZE)) found.second = *size;
  if (const auto size = size_of_level(3, _SC_LEVEL3_CACHE_SIZE)) found.last = *size;
  if (const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE); line > 0) found.line = static_cast<std::size_t>(line);
  found.last = std::max(found.last, found.second);
  const char* const forced = std::getenv(kForcedCaches);  // NOLINT(concurrency-mt-unsafe): nothing here writes it
  return forced == nullptr || *forced == '\0' ? found : parse_caches(forced, found);
}

std::string text_of(std::size_t bytes) {
  const bool megabytes = bytes >= (std::size_t{1} << 20U);
  return fmt::format("{:.3g} {}", static_cast<double>(bytes) / (megabytes ? 0x1p20 : 0x1p10), megabytes ? "MB" : "kB");
}

}  // namespace

Caches parse_caches(std::string_view text, const Caches& otherwise) {
  const std::size_t comma = text.find(',');
  const auto second = parse_size(text.substr(0, comma));
  const auto last = comma == std::string_view::npos ? otherwise.last : parse_size(text.substr(comma + 1));
  if (!second || !last) {
    throw InputError(kForcedCaches, fmt::format("'{}' is no size of a cache", text), "for example 512K or 512K,32M");
  }
  return {*second, std::max(*second, *last), otherwise.line};
}

const Caches& caches() {
  static const Caches found = look_up();
  return found;
}

std::string describe(const Caches& caches) {
  return fmt::format("{} second level, {} last level", text_of(caches.second), text_of(caches.last));
}

}  // namespace fedsinkhorn
