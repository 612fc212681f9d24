#include "watch/watch_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): <csignal> need not have pthread_sigmask
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/refused_threads.hpp"
#include "fedsinkhorn/error.hpp"
#include "privacy/random_bits.hpp"
#include "watch/live_view.hpp"
#include "watch/newest_event.hpp"
#include "watch/viewer_connection.hpp"
#include "watch/viewer_threads.hpp"

namespace fedsinkhorn {
namespace {

using Clock = std::chrono::steady_clock;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kTokenBytes = 16;
/// Pages, and connections that browsers open in advance.
constexpr std::size_t kMostOtherConnections = 8;

std::string new_token() {
  SystemBits bits;
  std::array<std::byte, kTokenBytes> token{};
  bits.fill(token);
  std::string text;
  for (const std::byte byte : token) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

/// Takes the same time whatever is wrong with it.
bool is_token(std::string_view given, std::string_view token) {
  return given.size() == token.size() && sodium_memcmp(given.data(), token.data(), token.size()) == 0;
}

/// httplib's default also lets a second server listen on the same port.
void set_listening_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

/// Keeps how SIGPIPE is handled: httplib's constructor ignores it for the whole process.
class KeepSigpipe {
 public:
  KeepSigpipe() { ::sigaction(SIGPIPE, nullptr, &before_); }
  ~KeepSigpipe() { ::sigaction(SIGPIPE, &before_, nullptr); }
  KeepSigpipe(const KeepSigpipe&) = delete;
  KeepSigpipe& operator=(const KeepSigpipe&) = delete;

 private:
  struct sigaction before_ {};
};

/// For threads that have nothing to do with signals, and those they start.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void refuse(Response& response, int status, const char* text) {
  response.status = status;
  response.set_content(text, "text/plain; charset=utf-8");
}

}  // namespace

/// httplib parses requests and writes responses; connections and threads are ours, so that they end when they should.
class WatchServer::Server final : private httplib::Server {
 public:
  Server(const LiveRun& run, const WatchAddress& address, const WatchLimits& limits)
      : run_(run), limits_(limits), events_(run, limits.between_events), token_(new_token()) {
    set_pre_routing_handler([this](const Request& request, Response& response) {
      answer(request, response);
      return HandlerResponse::Handled;
    });
    set_exception_handler([](const Request&, Response& response, const std::exception_ptr&) {
      refuse(response, 500, "This page cannot be made.\n");
    });
    set_default_headers(
        {{"Cache-Control", "no-store"}, {"Referrer-Policy", "no-referrer"}, {"X-Content-Type-Options", "nosniff"}});
    set_socket_options(set_listening_options);
    set_tcp_nodelay(true);
    new_task_queue = [this]() -> httplib::TaskQueue* {
      return std::make_unique<ViewerThreads>(limits_.streams + kMostOtherConnections).release();
    };
    listen_at(address);
    start();
  }
  ~Server() override { stop_serving(); }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::size_t streams() const {
    const std::lock_guard lock(mutex_);
    return streams_;
  }

  void stop_serving() {
    if (!accepting_.joinable()) return;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, limits_.for_end, [&] { return streams_ == 0; });
      is_closing_ = true;
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    stop();
    accepting_.join();
  }

 private:
  void listen_at(WatchAddress address) {
    const int port = address.port == 0 ? bind_to_any_port(address.host, AI_NUMERICHOST)
                     : bind_to_port(address.host, address.port, AI_NUMERICHOST) ? address.port
                                                                                : -1;
    if (port < 0) {
      throw InputError("--watch",
                       fmt::format("cannot listen at {}: {}", address.origin(), std::generic_category().message(errno)),
                       "use another port, or leave it out to have one chosen");
    }
    address.port = static_cast<std::uint16_t>(port);
    url_ = fmt::format("{}/{}/", address.origin(), token_);
  }

  void start() {
    try {
      accepting_ = std::thread([this] {
        accepting_id_ = std::this_thread::get_id();
        block_signals();
        listen_after_bind();
        has_ended_ = true;
      });
    } catch (const std::system_error&) {
      refuse_threads("--watch", 1);
    }
    // Before that, stop() does nothing.
    while (!is_running() && !has_ended_) std::this_thread::yield();
  }

  // Called by httplib for each connection: see ViewerThreads.
  bool process_and_close_socket(int socket) override {
    bool is_answered = false;
    if (std::this_thread::get_id() != accepting_id_ && remember(socket)) {
      is_answered = converse(socket);
      forget(socket);
    }
    ::close(socket);
    return is_answered;
  }

  [[nodiscard]] bool converse(int socket) {
    try {
      ViewerConnection viewer(socket, limits_.for_request, limits_.for_write);
      bool is_closed = false;
      const bool is_answered = process_request(viewer, true, is_closed, [](Request& request) {
        // Compressing the page would take a second of the run's time, and ranges of it are of no use to anybody.
        request.headers.erase("Accept-Encoding");
        request.ranges.clear();
      });
      viewer.end();
      return is_answered;
    } catch (const std::exception&) {  // no memory, perhaps: that viewer has bad luck
      return false;
    }
  }

  [[nodiscard]] bool remember(int socket) {
    const std::lock_guard lock(mutex_);
    if (!is_closing_) sockets_.insert(socket);
    return !is_closing_;
  }
  void forget(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.erase(socket);
  }

  void answer(const Request& request, Response& response) {
    if (request.get_header_value_count("Host") != 1 || !is_loopback_host(request.get_header_value("Host"))) {
      return refuse(response, 403, "Ask for 127.0.0.1 or localhost.\n");
    }
    if (request.method != "GET") {
      response.set_header("Allow", "GET");
      return refuse(response, 405, "There is nothing to change here.\n");
    }
    const std::string_view path = request.path;
    const std::size_t end = std::min(path.find('/', 1), path.size());
    if (path.empty() || !is_token(path.substr(1, end - 1), token_)) return refuse(response, 404, "Not found.\n");
    const std::string_view rest = path.substr(end);
    if (rest == "/") return give_page(response);
    if (rest == "/events") return give_events(response);
    refuse(response, 404, "Not found.\n");
  }

  void give_page(Response& response) const {
    response.set_content(report::page_html(live_page(run_.description(), run_.state())), "text/html; charset=utf-8");
  }

  void give_events(Response& response) {
    {
      const std::lock_guard lock(mutex_);
      if (streams_ >= limits_.streams) return refuse(response, 503, "Too many are watching.\n");
      ++streams_;
      changed_.notify_all();
    }
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, seen = std::uint64_t{0}, sent = Clock::now()](std::size_t, httplib::DataSink& sink) mutable {
          return send_next(sink, seen, sent);
        },
        [this](bool) {
          const std::lock_guard lock(mutex_);
          --streams_;
          changed_.notify_all();
        });
  }

  // Sends something, or waits a while. seen: the version that was sent; sent: when. False: the viewer is gone.
  [[nodiscard]] bool send_next(httplib::DataSink& sink, std::uint64_t& seen, Clock::time_point& sent) {
    const bool is_over = run_.wait_for_end(seen == 0 ? std::chrono::milliseconds(0) : limits_.between_events);
    std::string_view text;
    std::shared_ptr<const NewestEvent::Event> event;
    if (seen != run_.version()) {
      event = events_.get(is_over);
      if (event->version != seen) text = event->text;
      seen = event->version;
    } else if (Clock::now() - sent >= limits_.heartbeat) {
      text = ": still there\n\n";
    }
    if (text.empty()) return sink.is_writable();  // one that has left makes room for others
    sent = Clock::now();
    if (!sink.write(text.data(), text.size())) return false;
    if (event && event->is_last) sink.done();
    return true;
  }

  const LiveRun& run_;
  const WatchLimits limits_;
  NewestEvent events_;
  const std::string token_;
  std::string url_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t streams_ = 0;
  std::set<int> sockets_;  // of connections that are open
  bool is_closing_ = false;
  std::atomic<bool> has_ended_ = false;
  std::thread::id accepting_id_;  // set before there are connections
  std::thread accepting_;
};

bool serves_pages() { return true; }

WatchServer::WatchServer(const LiveRun& run, const WatchAddress& address, const WatchLimits& limits) {
  const KeepSigpipe keep;
  server_ = std::make_unique<Server>(run, address, limits);
}

WatchServer::~WatchServer() { stop(); }

const std::string& WatchServer::url() const { return server_->url(); }
std::size_t WatchServer::streams() const { return server_->streams(); }
void WatchServer::stop() { server_->stop_serving(); }

}  // namespace fedsinkhorn
