// Implementations by name.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Entry has a `name`, and a `missing` if it may be absent from this build: empty, or the reason. References to entries
/// stay valid. Add entries at program start, never while another thread solves.
template <class Entry>
class Registry {
 public:
  Registry(std::initializer_list<Entry> entries) : entries_(entries) {}

  void add(Entry entry) { entries_.push_back(std::move(entry)); }

  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }

  /// The entry with that name; throws InputError(culprit) listing the alternatives if there is none.
  [[nodiscard]] const Entry& find(std::string_view name, const std::string& culprit) const {
    std::string known;
    for (const Entry& entry : entries_) {
      if (entry.name == name) return entry;
      known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw InputError(culprit, "unknown name '" + std::string(name) + "'", "this build knows: " + known);
  }

  /// Like find, but the entry must be in this build. remedy: what to use instead.
  [[nodiscard]] const Entry& find_available(std::string_view name, const std::string& culprit,
                                            const std::string& remedy) const {
    const Entry& entry = find(name, culprit);
    if (entry.missing.empty()) return entry;
    throw InputError(culprit, "'" + std::string(name) + "' was asked for but this is " + std::string(entry.missing),
                     remedy);
  }

 private:
  std::deque<Entry> entries_;
};

}  // namespace fedsinkhorn
