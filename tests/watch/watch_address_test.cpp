#include "watch/watch_address.hpp"

#include <gtest/gtest.h>

#include <string>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::test {
namespace {

TEST(WatchAddress, IsOfTheLoopbackInterface) {
  const struct {
    const char* text;
    const char* origin;
  } good[] = {{"127.0.0.1", "http://127.0.0.1:0"},
              {"127.0.0.1:8000", "http://127.0.0.1:8000"},
              {"127.9.8.7:65535", "http://127.9.8.7:65535"},
              {"localhost", "http://127.0.0.1:0"},
              {"LocalHost:80", "http://127.0.0.1:80"},
              {"::1", "http://[::1]:0"},
              {"[::1]", "http://[::1]:0"},
              {"[::1]:81", "http://[::1]:81"},
              {"0:0:0:0:0:0:0:1", "http://[0:0:0:0:0:0:0:1]:0"}};
  for (const auto& one : good) EXPECT_EQ(parse_watch_address(one.text).origin(), one.origin) << one.text;
}

TEST(WatchAddress, OtherAddressesAreRefused) {
  for (const char* text : {"",
                           ":80",
                           "0.0.0.0",
                           "0.0.0.0:80",
                           "192.168.1.5:80",
                           "10.0.0.1",
                           "::",
                           "::2",
                           "[::]:80",
                           "[::1",
                           "[::1]80",
                           "[127.0.0.1",
                           "::ffff:127.0.0.1",
                           "128.0.0.1",
                           "127.1",
                           "127.0.0.1.example.org",
                           "example.org",
                           "localhost.",
                           "127.0.0.1:",
                           "127.0.0.1:-1",
                           "127.0.0.1:65536",
                           "127.0.0.1:99999999999999999999",
                           "127.0.0.1:8O",
                           "127.0.0.1: 1",
                           "127.0.0.1:+1",
                           "127.0.0.1:1:2",
                           "http://127.0.0.1",
                           "127.0.0.1/",
                           "\x1b[2J"}) {
    try {
      (void)parse_watch_address(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      const std::string line = error.what();
      EXPECT_TRUE(line.starts_with("--watch: ")) << line;
      EXPECT_NE(line.find("; use "), std::string::npos) << line;
      EXPECT_EQ(line.find('\x1b'), std::string::npos);
    }
  }
}

TEST(WatchAddress, HostsOfRequests) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:80", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
                           "evil.example:127.0.0.1", "192.168.0.1", "0.0.0.0", "::1", "[::2]", "[::1].evil.example",
                           "127.0.0.1:80@evil.example", "localhost:", "user@localhost", " localhost"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
