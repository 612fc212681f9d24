// Serves the page of a run to browsers on this machine while the run goes on.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "watch/live_run.hpp"
#include "watch/watch_address.hpp"

namespace fedsinkhorn {

/// Whether this build has a server; without one, WatchServer refuses.
[[nodiscard]] bool serves_pages();

/// How long a server is patient, and with how many. Tests have less time.
struct WatchLimits {
  std::chrono::milliseconds between_events{250};
  std::chrono::milliseconds heartbeat{
      5000};  ///< at most that long without a byte, so that dead connections are noticed
  std::chrono::milliseconds for_request{5000};  ///< to receive all of one
  std::chrono::milliseconds for_write{5000};    ///< for a viewer to take anything at all
  std::chrono::milliseconds for_end{1000};      ///< for all viewers to take the last event
  std::size_t streams = 8;                      ///< at the same time
};

/// GET /TOKEN/ is the page, GET /TOKEN/events a stream of server-sent events: the newest state, and again whenever it
/// has changed. Nobody without the token, which is random, gets anything, nor does a page of another site. Nothing that
/// is received changes the run. Has threads of its own, which do nothing while nobody asks.
class WatchServer {
 public:
  /// Listens and serves from now on. The run must outlive this. Throws InputError that names --watch if the address
  /// cannot be used.
  WatchServer(const LiveRun& run, const WatchAddress& address, const WatchLimits& limits = {});
  /// stop()
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  /// Of the page, with the token: "http://127.0.0.1:40123/3f.../".
  [[nodiscard]] const std::string& url() const;
  /// Of those that are connected now.
  [[nodiscard]] std::size_t streams() const;
  /// Ends all connections and threads. Call LiveRun::finish() before: viewers are then given WatchLimits::for_end to
  /// take the last event. To be called by one thread; later calls do nothing.
  void stop();

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace fedsinkhorn
