// Instead of watch_server.cpp in builds without cpp-httplib.
#include "fedsinkhorn/error.hpp"
#include "watch/watch_server.hpp"

namespace fedsinkhorn {

bool serves_pages() { return false; }

class WatchServer::Server {
 public:
  std::string url;
};

WatchServer::WatchServer(const LiveRun& /*run*/, const WatchAddress& /*address*/, const WatchLimits& /*limits*/) {
  throw InputError("--watch", "this build of fedsinkhorn serves no pages",
                   "leave it out, or build with cpp-httplib (libcpp-httplib-dev)");
}

WatchServer::~WatchServer() = default;
const std::string& WatchServer::url() const { return server_->url; }
std::size_t WatchServer::streams() const { return 0; }
void WatchServer::stop() {}

}  // namespace fedsinkhorn
