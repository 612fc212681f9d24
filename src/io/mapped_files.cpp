#include "io/mapped_files.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

namespace fedsinkhorn {

/// Entries are reused but never moved or freed: a signal handler may be reading them.
struct MappedFileEntry {
  std::atomic<std::uintptr_t> start = 0;
  std::atomic<std::uintptr_t> end = 0;  // 0: not in use
  std::array<char, 256> name{};         // zero-terminated
  MappedFileEntry* next = nullptr;
};

namespace {

std::mutex writing;
std::deque<MappedFileEntry> entries;
std::atomic<MappedFileEntry*> first = nullptr;
static_assert(std::atomic<MappedFileEntry*>::is_always_lock_free && std::atomic<std::uintptr_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

MappedFileEntry& free_entry() {
  for (MappedFileEntry& entry : entries) {
    if (entry.end == 0) return entry;
  }
  MappedFileEntry& entry = entries.emplace_back();
  entry.next = first;
  first = &entry;
  return entry;
}

MappedFileEntry& note(const void* start, std::size_t size, const std::string& name) {
  const std::lock_guard lock(writing);
  MappedFileEntry& entry = free_entry();
  entry.name.fill(0);
  name.copy(entry.name.data(), entry.name.size() - 1);
  entry.start = reinterpret_cast<std::uintptr_t>(start);
  entry.end = entry.start + size;
  return entry;
}

}  // namespace

MappedFile::MappedFile(const void* start, std::size_t size, const std::string& name)
    : entry_(note(start, size, name)) {}

MappedFile::~MappedFile() { entry_.end = 0; }

const char* file_mapped_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MappedFileEntry* entry = first; entry != nullptr; entry = entry->next) {
    if (entry->start <= at && at < entry->end) return entry->name.data();
  }
  return nullptr;
}

}  // namespace fedsinkhorn
