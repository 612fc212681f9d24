#include "runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/processors.hpp"
#include "core/stopwatch.hpp"
#include "costmodel/calibrate.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/version.hpp"
#include "io/atomic_file.hpp"
#include "io/descriptor.hpp"
#include "io/progress.hpp"
#include "report/number_text.hpp"
#include "report/record_json.hpp"

namespace fedsinkhorn::experiments {
namespace {

namespace fs = std::filesystem;

// ------------------------------------------------------------------------------------------------- names of cells

/// For a file: letters, digits, dots, plus and minus stay.
std::string slug(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  for (char& c : text) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+';
    if (!is_plain) c = '-';
  }
  return text;
}

/// From the parameters in which the cells differ: clients-2_eta-0.5.
std::vector<std::string> names_of(const std::vector<Json>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const Json& cell : cells) {
    for (const auto& [key, value] : cell.items()) values[key].insert(value.dump());
  }
  const auto differs = [&](const std::string& key) {
    return values[key].size() > 1 || std::ranges::any_of(cells, [&](const Json& cell) { return !cell.contains(key); });
  };
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const Json& cell : cells) {
    std::string name;
    for (const auto& [key, value] : cell.items()) {
      if (differs(key)) name += (name.empty() ? "" : "_") + slug(key) + "-" + slug(value);
    }
    if (name.empty()) name = "only";
    if (!used.insert(name).second) throw std::logic_error("two cells have the same parameters: " + name);
    names.push_back(std::move(name));
  }
  return names;
}

// ------------------------------------------------------------------------------------------------- the folder

/// Held as long as the run goes on; the system releases it when the process ends, however it ends.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_.get() < 0) throw InputError(folder.string(), "cannot be written to", "choose another --output");
    if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
      throw InputError(folder.string(), "another run is writing there", "wait for it, or choose another --output");
    }
  }

 private:
  Descriptor descriptor_;
};

/// What a killed run was writing.
void remove_unfinished(const fs::path& cells) {
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(cells)) {
    if (entry.path().filename().string().starts_with('.')) unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) fs::remove(path);
}

/// Whether there is a record of exactly this cell. A damaged one is measured again. Throws InputError for that of other
/// parameters, which may have taken hours.
bool is_measured(const fs::path& file, const report::CellRecord& wanted) {
  if (!fs::exists(file)) return false;
  try {
    const report::CellRecord found = report::read_cell_record(file);
    if (found.study == wanted.study && found.cell == wanted.cell && found.parameters == wanted.parameters) return true;
  } catch (const report::RecordError& error) {
    fmt::print(stderr, "{}: {}; measured again\n", display_name(file.parent_path()), error.what());
    return false;
  }
  throw InputError(file.string(), "is a record of other parameters", "choose another --output");
}

void require_same_study(const fs::path& folder, const report::StudyDescription& study) {
  if (!report::is_study_folder(folder)) return;
  const report::StudyDescription before = [&] {
    try {
      return report::read_study(folder).study;
    } catch (const report::RecordError& error) {
      throw InputError(folder.string(), error.what(), "choose another --output");
    }
  }();
  if (fs::exists(folder / report::kPackedCells)) {
    throw InputError(folder.string(), "holds the records of a finished study", "choose another --output");
  }
  if (before.name != study.name || before.scale != study.scale) {
    throw InputError(folder.string(), fmt::format("holds records of {} at scale {}", before.name, before.scale),
                     "choose another --output");
  }
}

// ------------------------------------------------------------------------------------------------- the run

report::StudyDescription description_of(const Study& study, const Setting& setting, const Design& design) {
  report::StudyDescription description;
  description.name = study.name;
  description.title = study.title;
  description.question = study.question;
  description.paper = study.paper;
  description.scale = name_of(setting.scale);
  description.conditions = design.conditions;
  description.differences = design.differences;
  description.cells = names_of(design.cells);
  description.tables = design.tables;
  description.charts = design.charts;
  return description;
}

/// "AMD EPYC, 2 cores, avx512".
std::string machine_name() {
  const ProfileMachine machine = this_machine_now();
  return fmt::format("{}, {} core{}, {}", machine.processor, machine.cores, machine.cores == 1 ? "" : "s",
                     machine.simd);
}

/// "delays: 3 of 12 cells, about 2 min left"; the time per cell is that of this run's cells so far.
class StudyProgress {
 public:
  StudyProgress(std::string_view study, std::size_t cells) : study_(study), cells_(cells), line_(stderr) {}

  /// Safe to call from several threads.
  void finished() {
    const std::lock_guard hold(mutex_);
    ++done_;
    const double seconds = watch_.seconds();
    const double left = seconds / static_cast<double>(done_) * static_cast<double>(cells_ - done_);
    line_.update(seconds, [&](std::size_t width) {
      std::string text =
          fmt::format("{}: {} of {} cells, about {} left", study_, done_, cells_, report::seconds_text(left));
      return text.size() > width ? text.substr(0, width) : text;
    });
  }

 private:
  std::string study_;
  std::size_t cells_;
  std::size_t done_ = 0;
  Timer watch_;
  RewrittenLine line_;
  std::mutex mutex_;
};

/// The first failure ends the run when the cells that were begun are done.
void for_each_of(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t k = next++; k < count; k = next++) {
      try {
        body(k);
      } catch (...) {
        const std::lock_guard hold(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < threads; ++k) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

RunCount run_study(const Study& study, const Setting& setting, const fs::path& folder) {
  const Design design = study.design(setting);
  const report::StudyDescription description = description_of(study, setting, design);
  const fs::path cells = folder / "cells";
  fs::create_directories(cells);
  const FolderLock lock(folder);
  require_same_study(folder, description);
  remove_unfinished(cells);
  write_file_atomically(folder / "study.json", report::study_json(description).dump(1) + "\n");

  RunCount count;
  std::vector<report::CellRecord> left;
  for (std::size_t k = 0; k < design.cells.size(); ++k) {
    report::CellRecord record{std::string(study.name), description.cells[k], design.cells[k],
                              Json::object(),          machine_name(),       std::string(version())};
    if (is_measured(cells / (record.cell + ".json"), record)) {
      ++count.kept;
    } else {
      left.push_back(std::move(record));
    }
  }
  StudyProgress progress(study.name, left.size());
  const std::size_t threads = study.is_timed ? 1 : static_cast<std::size_t>(processors_allowed());
  for_each_of(left.size(), threads, [&](std::size_t k) {
    report::CellRecord& record = left[k];
    try {
      record.measured = study.measure(record.parameters);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}, {}: {}", study.name, record.cell, error.what()));
    }
    write_file_atomically(cells / (record.cell + ".json"), report::cell_json(record).dump() + "\n");
    progress.finished();
  });
  count.measured = left.size();
  return count;
}

}  // namespace fedsinkhorn::experiments
