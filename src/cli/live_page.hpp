// The live page of a solve (--watch).
#pragma once

#include <memory>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "watch/live_run.hpp"
#include "watch/watch_server.hpp"

namespace fedsinkhorn {

/// A page that is served, or none: then all functions do nothing.
class LivePage {
 public:
  LivePage() = default;
  /// A run that has not been finished ended early, by an exception.
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// Serves from now on. address: as typed. Throws InputError.
  void open(const std::string& address, RunDescription description);
  /// Prints the address to standard error.
  void announce() const;
  /// Adds calls to the options by which the page follows a solve with them. This must outlive the solve.
  void follow(Options& options);
  /// Viewers are told how it ended, and left.
  void finish(const Result& result);
  void finish(const std::string& outcome);

 private:
  std::unique_ptr<LiveRun> run_;
  std::unique_ptr<WatchServer> server_;
};

/// What the page says of a solve before it begins. Counts that are not known are 0, and left out.
struct LiveShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t clients = 1;
  bool share_process = true;  ///< all clients are in this one
  double epsilon = 0;
};
/// folder: of the results, empty if none.
[[nodiscard]] RunDescription describe_live(const LiveShape& shape, const Options& options, const std::string& folder);

}  // namespace fedsinkhorn
