// solve --watch: the run serves a page to those who look, and goes its way whether they do or not.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "support/xml.hpp"

namespace fedsinkhorn::test {
namespace {

using testing::has;
using testing::occurrences;

class LoopbackSocket {
 public:
  LoopbackSocket() : number_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{60, 0};
    ::setsockopt(number_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~LoopbackSocket() { ::close(number_); }
  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;

  /// Listens, and returns the port.
  [[nodiscard]] std::uint16_t listen() const {
    sockaddr_in address = at(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(number_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(number_, 1), 0);
    EXPECT_EQ(::getsockname(number_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return ntohs(address.sin_port);
  }
  /// What is answered to a request, until `is_enough` or its end.
  template <class IsEnough>
  [[nodiscard]] std::string ask(std::uint16_t port, const std::string& path, const IsEnough& is_enough) const {
    const sockaddr_in address = at(port);
    if (::connect(number_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "not connected";
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    if (::send(number_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return "not sent";
    std::string answer;
    std::array<char, 65536> buffer{};
    for (ssize_t count = 0; (count = ::recv(number_, buffer.data(), buffer.size(), 0)) > 0;) {
      answer.append(buffer.data(), static_cast<std::size_t>(count));
      if (is_enough(answer)) break;
    }
    return answer;
  }

 private:
  static sockaddr_in at(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  int number_;
};

/// Looks at the page of a run and follows its events, as soon as its address is known, until the end.
class Viewer {
 public:
  /// wanted: once that has come in an event, the run is sent SIGINT; empty: it never is.
  explicit Viewer(std::string wanted) : wanted_(std::move(wanted)) {}
  ~Viewer() { wait(); }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  /// For RunOptions::hear. A run that does not know the flag, or whose page is not found, is stopped at once.
  void hear(int child, const std::string& said) {
    static const std::regex address(R"(watch: http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)\n)");
    std::smatch found;
    if (thread_.joinable() || !std::regex_search(said, found, address)) return;
    thread_ = std::thread([this, child, port = static_cast<std::uint16_t>(std::stoi(found[1])), path = found[2].str()] {
      page_ = LoopbackSocket().ask(port, path, [](const std::string&) { return false; });
      bool is_sent = wanted_.empty();
      events_ = LoopbackSocket().ask(port, path + "events", [&](const std::string& so_far) {
        if (!is_sent && has(so_far, wanted_)) is_sent = ::kill(child, SIGINT) == 0;
        return false;
      });
      if (!is_sent) ::kill(child, SIGINT);
    });
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] const std::string& page() const { return page_; }
  [[nodiscard]] const std::string& events() const { return events_; }

 private:
  std::string wanted_;
  std::string page_;
  std::string events_;
  std::thread thread_;
};

class WatchTest : public RectangularTest {
 protected:
  static inline const std::string kEndless = " --method sinkhorn --tolerance 0 --max-iterations 1000000000000";

  void SetUp() override {
    if (!has(run("info").out, "live pages   yes")) GTEST_SKIP() << "this build has no live pages";
  }
  [[nodiscard]] RunResult run_seen(const std::string& command, Viewer& viewer) const {
    RunResult result =
        run_binary(words_of(command),
                   {.folder = folder(), .hear = [&](int child, const std::string& said) { viewer.hear(child, said); }});
    viewer.wait();
    return result;
  }
  /// The run was stopped when it had been seen, and its viewer was told.
  static void expect_seen_and_stopped(const RunResult& result, const Viewer& viewer) {
    EXPECT_EQ(result.status, 130) << result;
    EXPECT_TRUE(viewer.page().starts_with("HTTP/1.1 200 ")) << viewer.page().substr(0, 500);
    EXPECT_TRUE(has(viewer.page(), "data-live=\"events\""));
    EXPECT_EQ(occurrences(viewer.events(), "\"done\":true"), 1U);
    EXPECT_TRUE(has(viewer.events(), "\"status\":\"interrupted after ")) << "the last event says how it ended";
  }
};

TEST_F(WatchTest, AnInterruptedRunIsSeenToItsEnd) {
  Viewer viewer("\"status\":\"iteration ");
  const RunResult result = run_seen(solve("seen", "--clients 3 --watch --report" + kEndless), viewer);
  expect_seen_and_stopped(result, viewer);
  EXPECT_TRUE(has(viewer.events(), "3 of 3 clients"));
  EXPECT_EQ(summary("seen")["status"], "interrupted");
  EXPECT_TRUE(std::filesystem::exists(folder() / "seen" / "report.html"));
}

TEST_F(WatchTest, TheResultIsTheSame) {
  ASSERT_EQ(run(solve("alone", "--clients 3")).status, 0);
  ASSERT_EQ(run(solve("watched", "--clients 3 --watch")).status, 0);
  expect_same_bytes("watched", "alone");
}

TEST_F(WatchTest, TheAddressIsOneLineAlsoIfQuiet) {
  const std::regex line(R"(watch: http://127\.0\.0\.1:\d+/[0-9a-f]{32}/\n)");
  for (const char* flags : {"--watch", "--watch=127.0.0.1", "--watch=localhost:0"}) {
    const RunResult result = run(solve("out", std::string("--quiet ") + flags));
    EXPECT_EQ(result.status, 0) << result;
    EXPECT_TRUE(std::regex_match(result.err, line)) << result;
  }
}

TEST_F(WatchTest, AddressesThatOthersCouldReachAreRefused) {
  const std::vector<std::string> before = snapshot(folder());
  const LoopbackSocket other;
  const std::string in_use = "127.0.0.1:" + std::to_string(other.listen());
  const RefusedFlags refused[] = {{"every interface", "0.0.0.0", {"--watch", "0.0.0.0", "127.0.0.1"}},
                                  {"another", "192.168.1.5:80", {"--watch", "192.168.1.5:80", "127.0.0.1"}},
                                  {"a name", "example.org", {"--watch", "example.org", "127.0.0.1"}},
                                  {"no port", "127.0.0.1:http", {"--watch", "'http' is no port", "65535"}},
                                  {"a large port", "127.0.0.1:65536", {"--watch", "65536", "65535"}},
                                  {"in use", in_use, {"--watch", in_use, "use another port"}}};
  for (const RefusedFlags& one : refused) {
    SCOPED_TRACE(one.name);
    expect_refused(run(solve("refused", "--watch=" + one.flags)), one.mentions, before);
  }
}

TEST_F(WatchTest, TheSlowClientIsNamed) {
  std::ofstream(folder() / "slow.json")
      << R"({"compute": {"seconds_per_entry": 1e-8}, "clients": [{"client": 2, "slower": 8}]})";
  for (const std::string topology : {"row-reduce", "async"}) {
    Viewer viewer("client 2 computes ");
    const RunResult result = run_seen(solve("slow",
                                            "--clients 4 --transport simulated --scenario slow.json --watch "
                                            "--topology " +
                                                topology + kEndless),
                                      viewer);
    expect_seen_and_stopped(result, viewer);
    EXPECT_TRUE(has(viewer.events(), "client 2 computes ")) << topology;
  }
}

TEST_F(WatchTest, ARunThatLosesAClientEndsAsWithoutIt) {
  std::ofstream(folder() / "lost.json")
      << R"({"compute": {"seconds_per_entry": 1e-6}, "clients": [{"client": 1, "lost_at": 0.2}]})";
  Viewer viewer("");
  const RunResult result = run_seen(
      solve("lost", "--clients 3 --transport simulated --scenario lost.json --timeout 1 --watch" + kEndless), viewer);
  EXPECT_EQ(result.status, 4) << result;
  EXPECT_EQ(own_lines(result.err).size(), 1U) << result;
}

TEST_F(WatchTest, UnderMpirunClientZeroServes) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  Viewer viewer("\"status\":\"iteration ");
  RunOptions options{.folder = folder()};
  options.hear = [&](int child, const std::string& said) { viewer.hear(child, said); };
  const RunResult result = run_ranks({{2, words_of(solve("ranks", "--threads 1 --watch" + kEndless))}}, options);
  viewer.wait();
  EXPECT_EQ(occurrences(result.err, "watch: http"), 1U) << result;
  EXPECT_TRUE(has(viewer.page(), "Only client 0 is seen here"));
  EXPECT_EQ(occurrences(viewer.events(), "\"done\":true"), 1U) << result;
  EXPECT_EQ(summary("ranks")["status"], "interrupted");
}

}  // namespace
}  // namespace fedsinkhorn::test
