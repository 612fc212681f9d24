#include "comm/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "comm/lost_lines.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

using namespace std::chrono_literals;

// Each look costs calls into the transport, so there is time between two looks. Failures may be noticed this late.
constexpr auto kBetweenLooks = 10ms;
// Long enough for a process to get its turn on a crowded machine. Both parts and kSending together keep the promise to
// end within 5 s after the time limit.
constexpr auto kRollCall = 1500ms;
constexpr auto kVerdict = 1500ms;
// All clients may find at the same time that everybody answers, each with its own line: client 0 is faster.
constexpr auto kVerdictOfFirst = 1000ms;
constexpr auto kSending = 1s;

constexpr Label kNoticeLabel{Tag::control, Payload::control};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

/// As sent: of fixed size, so that it can be received before its content is known. All clients run the same program on
/// the same kind of machine.
struct WatchedCommunicator::Notice {
  enum class Kind : std::uint32_t { who, bad_input, failed, lost };
  Kind kind = Kind::who;
  std::uint32_t is_for_others = 0;  // 1: the sender has told nobody else; the receiver passes it on
  std::uint32_t lost_count = 0;
  std::array<std::uint32_t, 64> lost{};  // if more are lost, only the first ones
  std::array<char, 476> text{};          // zero-terminated

  static Notice of(Kind kind, std::string_view text, const std::vector<std::size_t>& lost = {}) {
    static_assert(std::is_trivially_copyable_v<Notice>);
    Notice notice;
    notice.kind = kind;
    notice.lost_count = static_cast<std::uint32_t>(std::min(lost.size(), notice.lost.size()));
    for (std::size_t i = 0; i < notice.lost_count; ++i) notice.lost[i] = static_cast<std::uint32_t>(lost[i]);
    text.copy(notice.text.data(), notice.text.size() - 1);
    return notice;
  }

  /// Whether a client could have sent this in a run of that many clients.
  [[nodiscard]] bool is_possible(std::size_t clients) const {
    return kind <= Kind::lost && is_for_others <= 1 && lost_count <= lost.size() &&
           std::ranges::find(text, '\0') != text.end() &&
           std::all_of(lost.begin(), lost.begin() + lost_count, [clients](std::uint32_t k) { return k < clients; });
  }

  [[noreturn]] void raise() const {
    const std::string line = text.data();
    if (kind == Kind::bad_input) throw InputError(line);
    if (kind == Kind::lost) throw ClientLost(line, {lost.begin(), lost.begin() + lost_count});
    throw ClientFailed(line);
  }
};

// In both, the buffer is declared before the message that uses it, so it is destroyed after it.
struct WatchedCommunicator::Incoming {
  Notice notice;
  std::unique_ptr<PeerPending> message;
};
struct WatchedCommunicator::Outgoing {
  Notice notice;
  std::vector<std::unique_ptr<Pending>> messages;
};

WatchedCommunicator::WatchedCommunicator(Seconds timeout)
    // Capped at one year: a thousand years would overflow the clock.
    : timeout_(std::chrono::duration_cast<Clock::duration>(std::min(timeout, Seconds(365.0 * 24 * 3600)))) {}

WatchedCommunicator::~WatchedCommunicator() = default;

void WatchedCommunicator::listen() {
  heard_.assign(size(), false);
  heard_[rank()] = true;
  incoming_ = std::make_unique<Incoming>();
  listen_again();
}

void WatchedCommunicator::listen_again() {
  incoming_->message = start_receive_control(std::as_writable_bytes(std::span(&incoming_->notice, 1)));
}

void WatchedCommunicator::stop_listening() noexcept {
  incoming_.reset();
  outgoing_.clear();
}

double WatchedCommunicator::now() const { return Seconds(Clock::now().time_since_epoch()).count(); }

bool WatchedCommunicator::wait_any(std::span<Pending* const> messages, double until) {
  const auto is_done = [](Pending* message) { return message->done(); };
  // Long enough for every wait, and within the clock's range.
  const auto left = std::clamp(until - now(), 0.0, 2 * timeout() + 3600.0 * 24);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(left));
  for (std::uint64_t turn = 0;; ++turn) {
    if (std::ranges::any_of(messages, is_done)) return true;
    const auto time = Clock::now();
    look_now_and_then(time);
    if (time >= deadline) return false;
    idle(turn, std::min(deadline, next_look_));
  }
}

void WatchedCommunicator::miss(const Pending& message) { call_the_roll(&message); }

void WatchedCommunicator::distrust(std::size_t client, const std::string& sent) {
  const std::string line = line_of_distrust(client, sent);
  if (is_over_) throw ClientLost(line, {client});
  end_with(line, {client});
}

void WatchedCommunicator::break_off(const std::string& line) {
  if (is_over_) throw ClientLost(line, {});
  end_with(line, {});
}

void WatchedCommunicator::look_up() { look_now_and_then(Clock::now()); }

void WatchedCommunicator::look_now_and_then(Clock::time_point now) {
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  look_for_notices();
  if (roll_is_called_) call_the_roll(nullptr);
}

void WatchedCommunicator::give_up(bool bad_input, const char* text) noexcept {
  if (is_over_) return;
  is_over_ = true;
  try {
    tell_all(Notice::of(bad_input ? Notice::Kind::bad_input : Notice::Kind::failed, text));
  } catch (const std::exception&) {  // the others will reach their time limit
  }
}

void WatchedCommunicator::look_for_notices() {
  while (incoming_ && incoming_->message->done()) {
    const std::size_t from = incoming_->message->peer();
    const Notice notice = incoming_->notice;
    if (!notice.is_possible(size())) distrust(from, "a notice that makes no sense");
    if (notice.kind != Notice::Kind::who) {
      is_over_ = true;
      if (notice.is_for_others != 0) {
        root_ = rank();  // to the sender; this client may not know yet that it is a server
        tell_all(notice);
      }
      notice.raise();
    }
    // The sender has a route that this client does not use by itself, and waits for an answer.
    if (!heard_.at(from) && !reaches(from)) tell(notice, from);
    heard_.at(from) = true;
    roll_is_called_ = true;
    listen_again();
  }
}

template <class Condition>
bool WatchedCommunicator::look_until(Clock::duration limit, const Condition& condition) {
  const auto end = Clock::now() + limit;
  for (std::uint64_t turn = 0;; ++turn) {
    look_for_notices();
    if (condition()) return true;
    if (Clock::now() >= end) return false;
    idle(turn, end);
  }
}

void WatchedCommunicator::tell_all(const Notice& notice) {
  Outgoing& out = *outgoing_.emplace_back(std::make_unique<Outgoing>());
  out.notice = notice;
  out.notice.is_for_others = keeps_to_root_ && rank() != root_ ? 1 : 0;
  for (std::size_t k = 0; k < size(); ++k) {
    if (k != rank() && reaches(k)) out.messages.push_back(start_send(bytes_of(out.notice), k, kNoticeLabel));
  }
  if (notice.kind == Notice::Kind::who) return;
  // These are the last messages: nothing ensures their delivery later.
  const auto end = Clock::now() + kSending;
  const auto is_done = [](const auto& message) { return message->done(); };
  for (std::uint64_t turn = 0; !std::ranges::all_of(out.messages, is_done) && Clock::now() < end; ++turn) {
    idle(turn, end);
  }
}

void WatchedCommunicator::tell(const Notice& notice, std::size_t client) {
  Outgoing& out = *outgoing_.emplace_back(std::make_unique<Outgoing>());
  out.notice = notice;
  out.messages.push_back(start_send(bytes_of(out.notice), client, kNoticeLabel));
}

void WatchedCommunicator::call_the_roll(const Pending* waited_for) {
  tell_all(Notice::of(Notice::Kind::who, ""));
  if (keeps_to_root_ && rank() != root_) answer_the_root(waited_for);
  const auto all_heard = [this] { return std::ranges::find(heard_, false) == heard_.end(); };
  if (!look_until(kRollCall, all_heard)) {
    std::vector<std::size_t> silent;
    for (std::size_t k = 0; k < size(); ++k) {
      if (!heard_[k]) silent.push_back(k);
    }
    end_with(line_of_silence(silent, timeout()), silent);
  }
  // Another client may know of one that answers only some of them.
  look_until(rank() == root_ ? kVerdictOfFirst : kVerdict, [] { return false; });
  end_without_exchange(waited_for);
}

void WatchedCommunicator::answer_the_root(const Pending* waited_for) {
  if (!look_until(kRollCall, [this] { return heard_[root_]; })) {
    end_with(root_ == 0 ? line_of_silence({0}, timeout()) : line_of_silent_server(timeout()), {root_});
  }
  // The root's roll call, and its wait for what others may know.
  look_until(kRollCall + kVerdict, [] { return false; });
  end_without_exchange(waited_for);
}

void WatchedCommunicator::end_without_exchange(const Pending* waited_for) {
  const auto* addressed = dynamic_cast<const PeerPending*>(waited_for);
  const std::string peer = addressed == nullptr ? "" : fmt::format(" with client {}", addressed->peer());
  end_with(line_of_no_exchange(rank(), peer, timeout()), {});
}

void WatchedCommunicator::end_with(const std::string& line, std::vector<std::size_t> lost) {
  is_over_ = true;
  const Notice notice = Notice::of(Notice::Kind::lost, line, lost);
  tell_all(notice);
  throw ClientLost(line, std::move(lost));
}

}  // namespace fedsinkhorn
