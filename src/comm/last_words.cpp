#include "comm/last_words.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace fedsinkhorn {

using namespace std::chrono_literals;

namespace {
constexpr Label kLastWordsLabel{Tag::last_words, Payload::control};
}

void LastWords::tell_done(std::size_t client) noexcept {
  try {
    Message& message = messages_.emplace_back();
    message.pending = communicator_.start_send({&message.word, 1}, client, kLastWordsLabel);
    wait(std::vector<Message*>{&message}, 500ms);
  } catch (const std::exception&) {  // it will reach its limit
  }
}

void LastWords::await_done(std::span<const std::size_t> clients, std::chrono::milliseconds limit) noexcept {
  try {
    std::vector<Message*> expected;
    for (const std::size_t client : clients) {
      Message& message = messages_.emplace_back();
      message.pending = communicator_.start_receive({&message.word, 1}, client, kLastWordsLabel);
      expected.push_back(&message);
    }
    wait(expected, limit);
  } catch (const std::exception&) {  // the transport has failed
  }
}

void LastWords::wait(std::span<Message* const> messages, std::chrono::milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto is_done = [](Message* message) { return message->pending->done(); };
  while (!std::ranges::all_of(messages, is_done) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace fedsinkhorn
