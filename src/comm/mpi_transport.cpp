#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/lost_lines.hpp"
#include "comm/transports.hpp"
#include "comm/watch.hpp"
#include "core/thread_pool.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// MPI counts bytes with an int. Longer messages are sent in pieces.
constexpr std::size_t kPiece = std::size_t{1} << 30;
// How long an abandoned message may take to finish.
constexpr auto kAbandoning = 200ms;
// The program's exit status for a lost client.
constexpr int kExitLost = 4;
// Added to the time limit at start: on a busy machine, processes start one after the other, seconds apart.
constexpr auto kStarting = 1s;
// When a process ends, mpirun sends SIGTERM to the others a second later, and SIGKILL after another second. The next
// process waits this long before it reports. At the end there may be a handler for SIGTERM.
constexpr auto kTurnAtStart = 1500ms;
constexpr auto kTurnAtEnd = 2200ms;
// Even with these delays, all processes end within 5 s after the time limit.
constexpr std::size_t kMostTurns = 2;

void require(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw std::runtime_error(fmt::format("MPI failed: {}: {}", call, std::string_view(text.data(), std::size_t(length))));
}

/// In the clock's units, capped at one year: a thousand years would overflow it.
Clock::duration within_clock(Seconds duration) {
  return std::chrono::duration_cast<Clock::duration>(std::min(duration, Seconds(365.0 * 24 * 3600)));
}

/// What clients on one machine have in common: the running kernel, whose clock they share. If the system does not tell,
/// the host name.
std::string name_of_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  if (std::getline(file, name) && !name.empty()) return name;
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  int length = 0;
  require(MPI_Get_processor_name(host.data(), &length), "MPI_Get_processor_name");
  return {host.data(), std::size_t(length)};
}

/// Ends the process if this lives longer than the limit: MPI_Init and MPI_Finalize wait for all clients without a time
/// limit. Only the first process present reports why: when it ends, mpirun ends the rest.
class Watchdog {
 public:
  /// turn: how long each process waits for the previous one to report.
  Watchdog(Clock::duration limit, Clock::duration turn, std::string line)
      : line_(std::move(line)),
        thread_([this, limit, turn] { watch(limit + turn * std::min(rank_given_by_mpi(), kMostTurns)); }) {}
  ~Watchdog() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    over_.notify_one();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(Clock::duration limit) {
    std::unique_lock lock(mutex_);
    if (over_.wait_for(lock, limit, [this] { return is_over_; })) return;
    fmt::print(stderr, "fedsinkhorn: {}\n", line_);
    std::_Exit(kExitLost);
  }

  std::string line_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::jthread thread_;  // last: uses all others
};

/// Who started MPI, and so ends it.
enum class StartedBy : char { this_library, somebody_else };

class MpiCommunicator final : public WatchedCommunicator {
 public:
  /// comm: MPI_COMM_WORLD, or, if somebody else started MPI, a duplicate of it, which is freed at the end.
  MpiCommunicator(MPI_Comm comm, StartedBy started_by, Seconds timeout)
      : WatchedCommunicator(timeout), comm_(comm), started_by_(started_by), unwinding_(std::uncaught_exceptions()) {
    require(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    require(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    listen();
  }
  ~MpiCommunicator() override {
    if (started_by_ == StartedBy::somebody_else) {
      leave();
      return;
    }
    if (may_finalize()) finalize();
    is_mute_ = true;  // drops the remaining messages without MPI calls
    stop_listening();
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] bool shares_clock() const override { return clients_on_machine_ == size(); }
  [[nodiscard]] bool shares_process() const override { return false; }
  [[nodiscard]] std::size_t clients_on_machine() const override { return clients_on_machine_; }
  /// Counts them, together with all other clients. Call at the start.
  void count_clients_on_this_machine();
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override;

 protected:
  [[nodiscard]] std::unique_ptr<PeerPending> start_receive_control(std::span<std::byte> data) override;
  void idle(std::uint64_t turn, Clock::time_point until) override;

 private:
  class Message;

  // After a failure, MPI_Finalize would wait in vain for others, which fail later or not at all.
  [[nodiscard]] bool may_finalize() const {
    return !is_over() && !has_failed_ && !is_mute_ && std::uncaught_exceptions() == unwinding_;
  }
  // If somebody else started MPI, it keeps running and must not use freed buffers.
  [[nodiscard]] bool withdraws_messages() const {
    return started_by_ == StartedBy::somebody_else || (!is_over() && !is_mute_);
  }
  void finalize() noexcept;
  void leave() noexcept;
  void require(int code, const char* call);

  MPI_Comm comm_;
  StartedBy started_by_;
  int rank_ = 0;
  int size_ = 1;
  std::size_t clients_on_machine_ = 1;
  int unwinding_;
  bool has_failed_ = false;
  bool is_mute_ = false;  // MPI still uses freed memory: no more calls
};

/// One message, in one or more pieces.
class MpiCommunicator::Message final : public PeerPending {
 public:
  Message(MpiCommunicator& owner, std::size_t bytes, std::size_t peer)
      : PeerPending(peer), owner_(owner), bytes_(bytes), requests_(pieces(bytes), MPI_REQUEST_NULL) {}
  ~Message() override { abandon(); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void start_send(const std::byte* data, Tag tag) {
    // A synchronous send is done when the other side has a receive for it; MPI keeps no copy meanwhile.
    const auto send = is_news(tag) ? MPI_Issend : MPI_Isend;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      owner_.require(send(data + i * kPiece, bytes_of_piece(i), MPI_BYTE, static_cast<int>(peer()),
                          static_cast<int>(tag), owner_.comm_, &requests_[i]),
                     "MPI_Isend");
    }
  }
  /// source: the peer, or MPI_ANY_SOURCE.
  void start_receive(std::byte* data, int source, int tag) {
    is_receive_ = true;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      owner_.require(
          MPI_Irecv(data + i * kPiece, bytes_of_piece(i), MPI_BYTE, source, tag, owner_.comm_, &requests_[i]),
          "MPI_Irecv");
    }
  }

  [[nodiscard]] bool done() override {
    for (; done_ < requests_.size(); ++done_) {
      int is_done = 0;
      MPI_Status status;
      const int code = MPI_Test(&requests_[done_], &is_done, &status);
      if (is_receive_ && is_truncated(code)) refuse_longer(status);
      owner_.require(code, "MPI_Test");
      if (is_done == 0) return false;
      if (is_receive_) check_size(status);
    }
    return true;
  }

 private:
  static std::size_t pieces(std::size_t bytes) { return std::max<std::size_t>(1, (bytes + kPiece - 1) / kPiece); }
  [[nodiscard]] int bytes_of_piece(std::size_t i) const {
    return static_cast<int>(std::min(kPiece, bytes_ - i * kPiece));
  }

  void check_size(const MPI_Status& status) {
    int came = 0;
    owner_.require(MPI_Get_count(&status, MPI_BYTE, &came), "MPI_Get_count");
    set_peer(static_cast<std::size_t>(status.MPI_SOURCE));
    if (came == bytes_of_piece(done_)) return;
    owner_.has_failed_ = true;
    owner_.distrust(peer(),
                    line_of_size(static_cast<std::size_t>(came), static_cast<std::size_t>(bytes_of_piece(done_))));
  }
  static bool is_truncated(int code) {
    int kind = MPI_SUCCESS;
    return code != MPI_SUCCESS && MPI_Error_class(code, &kind) == MPI_SUCCESS && kind == MPI_ERR_TRUNCATE;
  }
  void refuse_longer(const MPI_Status& status) {
    owner_.has_failed_ = true;
    const bool is_known = status.MPI_SOURCE >= 0 && static_cast<std::size_t>(status.MPI_SOURCE) < owner_.size();
    owner_.distrust(is_known ? static_cast<std::size_t>(status.MPI_SOURCE) : peer(),
                    fmt::format("a message of more than the {} bytes that were expected", bytes_of_piece(done_)));
  }

  // The buffer is about to be freed, perhaps by an exception. A receive without a message can be cancelled; a transfer
  // in progress must be completed. If that fails, MPI must not run again: it would use the buffer.
  void abandon() noexcept {
    if (!owner_.withdraws_messages()) return;
    const auto end = Clock::now() + kAbandoning;
    for (std::size_t i = done_; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (is_receive_) MPI_Cancel(&requests_[i]);
      int is_done = 0;
      while (MPI_Test(&requests_[i], &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) {
        if (Clock::now() >= end) {
          owner_.is_mute_ = true;
          if (!owner_.withdraws_messages()) return;
          break;
        }
        std::this_thread::yield();
      }
    }
  }

  MpiCommunicator& owner_;
  std::size_t bytes_;
  std::vector<MPI_Request> requests_;
  std::size_t done_ = 0;  // pieces
  bool is_receive_ = false;
};

std::unique_ptr<Pending> MpiCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Label label) {
  if (is_mute_) throw std::runtime_error("messages were abandoned");
  auto message = std::make_unique<Message>(*this, data.size(), to);
  message->start_send(data.data(), label.tag);
  return message;
}

std::unique_ptr<Pending> MpiCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Label label) {
  if (is_mute_) throw std::runtime_error("messages were abandoned");
  auto message = std::make_unique<Message>(*this, data.size(), from);
  message->start_receive(data.data(), static_cast<int>(from), static_cast<int>(label.tag));
  return message;
}

std::unique_ptr<PeerPending> MpiCommunicator::start_receive_control(std::span<std::byte> data) {
  auto message = std::make_unique<Message>(*this, data.size(), rank());
  message->start_receive(data.data(), MPI_ANY_SOURCE, static_cast<int>(Tag::control));
  return message;
}

// MPI offers nothing to sleep on. Retrying at once catches an immediate answer, but not for long: the other client may
// need this core. Two clients on one core are ten times faster with 20 spins than with 1000; on separate cores the two
// were equal within the noise. Longer waits let others compute.
void MpiCommunicator::idle(std::uint64_t turn, Clock::time_point until) {
  constexpr std::uint64_t kSpins = 20;
  constexpr std::uint64_t kYields = 5000;
  constexpr auto kNap = 50us;
  if (turn < kSpins) return;
  if (turn < kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_until(std::min(until, Clock::now() + kNap));
  }
}

void MpiCommunicator::finalize() noexcept {
  try {
    const Watchdog watchdog(within_clock(Seconds(timeout())), kTurnAtEnd,
                            fmt::format("another client did not come to the end within {:.3g} s", timeout()));
    stop_listening();
    if (!is_mute_) MPI_Finalize();
  } catch (const std::exception&) {  // no thread for the watchdog: the process ends without MPI_Finalize
  }
}

// MPI_Comm_free is collective: after a failure, the others may not call it.
void MpiCommunicator::leave() noexcept {
  stop_listening();
  if (may_finalize()) MPI_Comm_free(&comm_);
}

void MpiCommunicator::count_clients_on_this_machine() {
  const std::string mine = name_of_machine();
  const auto names = Collectives(*this, Route::through_root, Payload::shape).allgather_text(mine);
  clients_on_machine_ = static_cast<std::size_t>(std::ranges::count(names, mine));
}

void MpiCommunicator::require(int code, const char* call) {
  if (code != MPI_SUCCESS) has_failed_ = true;
  fedsinkhorn::require(code, call);
}

std::unique_ptr<MpiCommunicator> start_mpi(Seconds timeout) {
  (void)ThreadPool(2);  // throws if the watchdog could not get a thread
  const Watchdog watchdog(within_clock(timeout) + kStarting, kTurnAtStart,
                          fmt::format("the clients did not all start within {:.3g} s", timeout.count()));
  int provided = MPI_THREAD_SINGLE;
  require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED) throw std::runtime_error("this MPI does not allow threads beside it");
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, StartedBy::this_library, timeout);
}

/// A duplicate of MPI_COMM_WORLD that is being made. MPI writes to it until then.
struct Duplicate {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// One that was not waited for to the end. The next session takes it up: MPI matches duplicates in the order in which
/// processes ask for them, so a new one would be matched with one that late clients ask for after this one.
std::unique_ptr<Duplicate> unfinished_duplicate;

/// The process belongs to somebody else: when the time limit passes, throws instead of ending it.
std::unique_ptr<MpiCommunicator> join_mpi(Seconds timeout, const StopRequest& stop) {
  int provided = MPI_THREAD_SINGLE;
  int is_main = 0;
  require(MPI_Query_thread(&provided), "MPI_Query_thread");
  require(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main");
  if (provided < MPI_THREAD_FUNNELED || (provided == MPI_THREAD_FUNNELED && is_main == 0)) {
    throw InputError("`transport`", "MPI was started without room for the threads of a solve",
                     "start it with MPI_THREAD_FUNNELED, and use it on that thread, or with a higher level");
  }
  std::unique_ptr<Duplicate> duplicate = std::move(unfinished_duplicate);
  if (!duplicate) {
    duplicate = std::make_unique<Duplicate>();
    require(MPI_Comm_idup(MPI_COMM_WORLD, &duplicate->comm, &duplicate->request), "MPI_Comm_idup");
  }
  const auto end = Clock::now() + within_clock(timeout) + kStarting;
  for (int is_done = 0; is_done == 0;) {
    require(MPI_Test(&duplicate->request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) break;
    const bool is_late = Clock::now() >= end;
    if (is_late || stop.is_made()) {
      unfinished_duplicate = std::move(duplicate);
      stop.throw_if_made();
      throw ClientFailed(fmt::format("the clients did not all start within {:.3g} s", timeout.count()));
    }
    std::this_thread::sleep_for(50us);
  }
  return std::make_unique<MpiCommunicator>(duplicate->comm, StartedBy::somebody_else, timeout);
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(Seconds timeout, const StopRequest& stop) {
  int is_initialized = 0;
  require(MPI_Initialized(&is_initialized), "MPI_Initialized");
  int is_finalized = 0;
  require(MPI_Finalized(&is_finalized), "MPI_Finalized");
  if (is_finalized != 0) throw std::logic_error("MPI can be started once in a process");
  auto communicator = is_initialized != 0 ? join_mpi(timeout, stop) : start_mpi(timeout);
  communicator->keep_to_root(true);               // until it is known who talks to whom
  communicator->count_clients_on_this_machine();  // observes the time limit itself
  return communicator;
}

}  // namespace fedsinkhorn
