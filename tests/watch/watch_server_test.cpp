// The server of live pages, asked by an HTTP client and by sockets that behave worse than that.
#include "watch/watch_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn::test {
namespace {

using testing::has;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Generous: only what hangs meets it.
constexpr auto kPatience = 60s;

/// Looks again and again until it is true, or the patience ends.
[[nodiscard]] bool eventually(const std::function<bool()>& is_true) {
  const auto deadline = Clock::now() + kPatience;
  while (!is_true()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// A connection on which anything can be said, or nothing.
class RawViewer {
 public:
  explicit RawViewer(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const timeval patience{std::chrono::seconds(kPatience).count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::system_error(errno, std::generic_category(), "connect");
    }
  }
  ~RawViewer() { ::close(socket_); }
  RawViewer(const RawViewer&) = delete;
  RawViewer& operator=(const RawViewer&) = delete;

  void say(const std::string& text) const {
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;  // the server has hung up
      sent += static_cast<std::size_t>(count);
    }
  }
  /// What the server says until it hangs up, or has said that.
  [[nodiscard]] std::string hear(const std::string& until = "\n\n no end \n\n") const {
    std::string text;
    std::array<char, 4096> buffer{};
    while (!has(text, until)) {
      const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (count < 0 && errno != ECONNRESET) ADD_FAILURE() << "nothing heard after " << text;
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int socket_;
};

Progress at_iteration(std::int64_t iteration) {
  Progress progress;
  progress.iteration = iteration;
  progress.max_iterations = 1000;
  progress.error_a = progress.error_b = 0.5;
  return progress;
}

/// Reads a stream of events in a thread of its own.
class EventReader {
 public:
  EventReader(int port, const std::string& path)
      : thread_([this, port, path] {
          httplib::Client client("127.0.0.1", port);
          client.set_read_timeout(std::chrono::duration_cast<std::chrono::seconds>(kPatience).count());
          const httplib::Result result = client.Get(path, [this](const char* data, std::size_t size) {
            const std::lock_guard lock(mutex_);
            text_.append(data, size);
            changed_.notify_all();
            return !leaves_;
          });
          const std::lock_guard lock(mutex_);
          is_complete_ = static_cast<bool>(result);
          status_ = result ? result->status : 0;
          changed_.notify_all();
        }) {}
  ~EventReader() { thread_.join(); }
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Waits until that has come.
  [[nodiscard]] bool hears(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return has(text_, text); });
  }
  /// Waits until the stream has ended as it should.
  [[nodiscard]] bool ends() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return is_complete_; });
  }
  /// The next thing heard is the last.
  void leave() {
    const std::lock_guard lock(mutex_);
    leaves_ = true;
  }
  [[nodiscard]] int status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  /// All that have come.
  [[nodiscard]] std::vector<nlohmann::json> events() {
    const std::lock_guard lock(mutex_);
    std::vector<nlohmann::json> events;
    constexpr std::string_view begin = "data: ";
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = text_.find("\n\n", at);
      if (end == std::string::npos) break;
      const std::string block = text_.substr(at, end - at);
      if (block.starts_with(begin)) events.push_back(nlohmann::json::parse(block.substr(begin.size())));
      at = end + 2;
    }
    return events;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool leaves_ = false;
  bool is_complete_ = false;
  int status_ = -1;
  std::thread thread_;
};

class WatchServerTest : public ::testing::Test {
 protected:
  explicit WatchServerTest(std::size_t clients = 2) : run_({.title = "A run", .clients = clients}) {}

  void serve(const WatchLimits& limits = {.between_events = 1ms}) {
    server_ = std::make_unique<WatchServer>(run_, WatchAddress{}, limits);
    const std::string& url = server_->url();
    const std::size_t port = url.find(':', 5) + 1;
    port_ = std::stoi(url.substr(port));
    path_ = url.substr(url.find('/', port));
  }
  [[nodiscard]] httplib::Client client() const { return httplib::Client("127.0.0.1", port_); }
  [[nodiscard]] int status_of(const std::string& path, const httplib::Headers& headers = {}) const {
    const httplib::Result result = client().Get(path, headers);
    return result ? result->status : 0;
  }
  [[nodiscard]] std::string request_for(const std::string& path) const {
    return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", path, port_);
  }
  [[nodiscard]] double seconds_to_end() {
    const auto begun = Clock::now();
    run_.finish("converged");
    server_->stop();
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  LiveRun run_;
  std::unique_ptr<WatchServer> server_;
  int port_ = 0;
  std::string path_;
};

TEST_F(WatchServerTest, GivesThePageToThoseWithTheToken) {
  serve();
  EXPECT_EQ(path_.size(), 34U);
  const httplib::Result page = client().Get(path_, {{"Accept-Encoding", "gzip, br"}});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_TRUE(has(page->body, "data-live=\"events\""));
  EXPECT_TRUE(page->get_header_value("Content-Type").starts_with("text/html"));
  EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
  EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page->get_header_value("Referrer-Policy"), "no-referrer");
  EXPECT_FALSE(page->has_header("Content-Encoding")) << "that would take the run's time";
  const httplib::Result part = client().Get(path_, {{"Range", "bytes=0-9"}});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->status, 200);
  EXPECT_GT(part->body.size(), 1000U);
}

TEST_F(WatchServerTest, GivesNothingToOthers) {
  serve();
  const std::string token = path_.substr(1, path_.size() - 2);
  std::string wrong = token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  const std::vector<std::string> paths = {"/",
                                          "/events",
                                          "/" + wrong + "/",
                                          "/" + wrong + "/events",
                                          "/" + token,
                                          "//" + token,
                                          "/" + token + "//",
                                          "/" + token + "0/",
                                          "/" + token.substr(1) + "/",
                                          "/favicon.ico",
                                          "/./" + token + "/",
                                          "/" + token + "/events/",
                                          "/" + token + "/../" + token + "/",
                                          "/?" + token + "/"};
  for (const std::string& path : paths) {
    const httplib::Result result = client().Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 404) << path;
    EXPECT_FALSE(has(result->body, "A run")) << path;
    EXPECT_FALSE(has(result->body, token)) << path;
  }
  EXPECT_EQ(status_of(path_), 200) << "after all that";
}

TEST_F(WatchServerTest, GivesNothingToPagesOfOtherSites) {
  serve();
  for (const char* host : {"evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::1].evil.example", ""}) {
    EXPECT_EQ(status_of(path_, {{"Host", host}}), 403) << host;
  }
  for (const char* host : {"localhost", "LOCALHOST:1", "[::1]:80", "127.0.0.1"}) {
    EXPECT_EQ(status_of(path_, {{"Host", host}}), 200) << host;
  }
  const RawViewer without_host(port_);
  without_host.say("GET " + path_ + " HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(has(without_host.hear(), " 403 "));
  const RawViewer with_two(port_);
  with_two.say("GET " + path_ + " HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n");
  EXPECT_TRUE(has(with_two.hear(), " 403 "));
}

TEST_F(WatchServerTest, NothingCanBeChanged) {
  serve();
  const std::string body(10'000, 'x');
  for (const std::string& path : {path_, path_ + "events", std::string("/")}) {
    for (const auto& result :
         {client().Post(path, body, "text/plain"), client().Put(path, body, "text/plain"), client().Delete(path),
          client().Patch(path, body, "text/plain"), client().Options(path), client().Head(path)}) {
      ASSERT_TRUE(result) << path;
      EXPECT_EQ(result->status, 405) << path;
      EXPECT_EQ(result->get_header_value("Allow"), "GET");
    }
  }
}

TEST_F(WatchServerTest, BadRequestsEndTheirConnectionAlone) {
  serve();
  for (const std::string& text : {std::string("\r\n\r\n"), std::string("nonsense\r\n\r\n"), std::string(20'000, 'a'),
                                  "GET " + path_ + " HTTP/9.9\r\n\r\n", std::string(200, '\0'),
                                  "GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                  "GET " + path_ + " HTTP/1.1\r\n" + std::string(100'000, 'h') + ": x\r\n\r\n"}) {
    const RawViewer viewer(port_);
    viewer.say(text + "\r\n\r\n");
    EXPECT_FALSE(has(viewer.hear(), " 200 ")) << text.substr(0, 40);
  }
  EXPECT_EQ(status_of(path_), 200);
}

TEST_F(WatchServerTest, EventsComeAndEnd) {
  serve();
  EventReader viewer(port_, path_ + "events");
  ASSERT_TRUE(viewer.hears("no iteration is finished yet"));
  run_.update(at_iteration(1));
  ASSERT_TRUE(viewer.hears("iteration 1,"));
  run_.update(at_iteration(2));
  ASSERT_TRUE(viewer.hears("iteration 2,"));
  run_.finish("converged in 2 iterations");
  ASSERT_TRUE(viewer.ends());
  EXPECT_EQ(viewer.status(), 200);
  const auto events = viewer.events();
  ASSERT_GE(events.size(), 4U);
  for (const auto& event : events) EXPECT_EQ(event["done"], &event == &events.back());
  EXPECT_EQ(events.back()["status"], "converged in 2 iterations");
  // Who comes late is told the same.
  EventReader late(port_, path_ + "events");
  ASSERT_TRUE(late.ends());
  ASSERT_EQ(late.events().size(), 1U);
  EXPECT_EQ(late.events()[0]["done"], true);
}

TEST_F(WatchServerTest, EventsAreOfTheirKind) {
  serve();
  const RawViewer viewer(port_);
  viewer.say(request_for(path_ + "events"));
  const std::string head = viewer.hear("data: ");
  EXPECT_TRUE(has(head, "Content-Type: text/event-stream")) << head;
  EXPECT_TRUE(has(head, "Cache-Control: no-store")) << head;
}

TEST_F(WatchServerTest, NothingNewIsOnlyAHeartbeat) {
  serve({.between_events = 1ms, .heartbeat = 5ms});
  EventReader viewer(port_, path_ + "events");
  ASSERT_TRUE(viewer.hears("\n\n: still there\n\n: still there\n\n"));
  EXPECT_EQ(viewer.events().size(), 1U);
  run_.finish("done");
  EXPECT_TRUE(viewer.ends());
}

TEST_F(WatchServerTest, SeveralCanWatch) {
  serve({.between_events = 1ms, .streams = 2});
  EventReader one(port_, path_ + "events");
  EventReader two(port_, path_ + "events");
  ASSERT_TRUE(one.hears("data: "));
  ASSERT_TRUE(two.hears("data: "));
  EXPECT_EQ(server_->streams(), 2U);
  EXPECT_EQ(status_of(path_ + "events"), 503) << "not too many";
  EXPECT_EQ(status_of(path_), 200);
  run_.update(at_iteration(5));
  EXPECT_TRUE(one.hears("iteration 5,"));
  EXPECT_TRUE(two.hears("iteration 5,"));
  EXPECT_LT(seconds_to_end(), 30);
  for (EventReader* viewer : {&one, &two}) {
    EXPECT_TRUE(viewer->ends());
    EXPECT_EQ(viewer->events().back()["done"], true);
  }
}

TEST_F(WatchServerTest, OneThatLeavesDoesNotMatter) {
  serve({.between_events = 1ms, .streams = 1});
  {
    const RawViewer leaving(port_);
    leaving.say(request_for(path_ + "events"));
    ASSERT_TRUE(has(leaving.hear("data: "), "data: "));
  }
  // Nothing changes meanwhile, and still there is room for another.
  ASSERT_TRUE(eventually([&] { return server_->streams() == 0; }));
  EventReader leaving_later(port_, path_ + "events");
  ASSERT_TRUE(leaving_later.hears("data: "));
  leaving_later.leave();
  for (std::int64_t k = 1; server_->streams() > 0 && k < 60'000; ++k) {
    run_.update(at_iteration(k));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(server_->streams(), 0U);
  EventReader staying(port_, path_ + "events");
  ASSERT_TRUE(staying.hears("data: "));
  EXPECT_LT(seconds_to_end(), 30);
  EXPECT_TRUE(staying.ends());
}

TEST_F(WatchServerTest, ThoseWhoSayNothingDoNotDelayTheEnd) {
  serve({.for_request = std::chrono::hours(1)});
  const RawViewer silent(port_);
  const RawViewer halfway(port_);
  halfway.say("GET " + path_);
  EXPECT_EQ(status_of(path_), 200) << "connections are accepted in order: those have been";
  EXPECT_LT(seconds_to_end(), 600) << "less than a request may take";
  EXPECT_EQ(silent.hear(), "");
  EXPECT_EQ(status_of(path_), 0) << "nobody serves any more";
}

TEST_F(WatchServerTest, TooManyConnectionsAreNotKept) {
  serve({.for_request = std::chrono::hours(1), .streams = 0});
  std::vector<std::unique_ptr<RawViewer>> silent;
  for (int k = 0; k < 9; ++k) silent.push_back(std::make_unique<RawViewer>(port_));
  EXPECT_EQ(silent.back()->hear(), "") << "the last one is turned away";
  silent.clear();
  EXPECT_TRUE(eventually([&] { return status_of(path_) == 200; }));
}

TEST_F(WatchServerTest, RequestsMustComeSoon) {
  serve({.for_request = 10ms});
  const RawViewer halfway(port_);
  halfway.say("GET " + path_);
  EXPECT_FALSE(has(halfway.hear(), " 200 "));
}

/// So many clients that an event does not fit into what systems keep for those who do not read.
class LargeEventTest : public WatchServerTest {
 protected:
  LargeEventTest() : WatchServerTest(100'000) {}
};

TEST_F(LargeEventTest, OneThatNeverReadsDoesNotDelayTheEnd) {
  serve({.for_write = std::chrono::hours(1), .for_end = 50ms});
  const RawViewer never_reads(port_);
  never_reads.say(request_for(path_ + "events"));
  ASSERT_TRUE(eventually([&] { return server_->streams() == 1; }));
  EXPECT_LT(seconds_to_end(), 30);
  EXPECT_EQ(server_->streams(), 0U);
}

TEST_F(LargeEventTest, OneThatNeverReadsIsGivenUp) {
  serve({.for_write = 10ms});
  const RawViewer never_reads(port_);
  never_reads.say(request_for(path_ + "events"));
  std::size_t most = 0;
  EXPECT_TRUE(eventually([&] {
    most = std::max(most, server_->streams());
    return most == 1 && server_->streams() == 0;
  }));
}

TEST_F(WatchServerTest, ServesOnIpv6) {
  try {
    server_ = std::make_unique<WatchServer>(run_, WatchAddress{"::1", 0});
  } catch (const InputError& error) {
    GTEST_SKIP() << "there is no IPv6 here: " << error.what();
  }
  EXPECT_TRUE(server_->url().starts_with("http://[::1]:"));
}

TEST_F(WatchServerTest, APortInUseIsRefused) {
  serve();
  try {
    const WatchServer second(run_, WatchAddress{"127.0.0.1", static_cast<std::uint16_t>(port_)});
    FAIL() << second.url();
  } catch (const InputError& error) {
    EXPECT_TRUE(has(error.what(), fmt::format("--watch: cannot listen at http://127.0.0.1:{}", port_))) << error.what();
    EXPECT_TRUE(has(error.what(), "; use another port")) << error.what();
  }
  // A port that was in use can be used again at once.
  run_.finish("done");
  EXPECT_EQ(status_of(path_), 200);
  server_.reset();
  const WatchServer third(run_, WatchAddress{"127.0.0.1", static_cast<std::uint16_t>(port_)});
  EXPECT_TRUE(has(third.url(), std::to_string(port_)));
}

TEST_F(WatchServerTest, TokensDiffer) {
  serve();
  const std::string first = path_;
  server_.reset();
  serve();
  EXPECT_NE(path_, first);
}

TEST_F(WatchServerTest, SignalsOfTheProcessStayAsTheyAre) {
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &before), 0);
  serve();
  struct sigaction after {};
  ASSERT_EQ(sigaction(SIGPIPE, nullptr, &after), 0);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace fedsinkhorn::test
