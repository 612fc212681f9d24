// The clock of a simulation, and whose turn it is.
//
// Every client has its own thread, but only the one that holds the baton runs, and no time passes meanwhile. To let
// time pass, it hands the baton to the client with the earliest event. So nothing depends on the speed of this machine,
// and data that clients share needs no locks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

class VirtualTime {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Something that happens at its time, whoever holds the baton then. It may plan more and wake clients.
  class Happening {
   public:
    virtual ~Happening() = default;
    Happening() = default;
    Happening(const Happening&) = delete;
    Happening& operator=(const Happening&) = delete;
    virtual void happen() = 0;
  };

  /// special: some of the clients; pauses must not overlap.
  VirtualTime(std::size_t clients, const std::vector<ClientScenario>& special);

  // Called without the baton.

  /// Client 0's call hands out the baton for the first time. Returns at the client's first turn; false if there will be
  /// none: the client is gone, or the run was called off.
  [[nodiscard]] bool begin(std::size_t client);
  /// Instead of client 0's begin: no client begins.
  void call_off();

  // Called with the baton; sleep, work and end on the client's own thread.

  [[nodiscard]] double now() const { return now_; }
  /// Of two at the same time, the one planned first happens first.
  void plan(double time, std::unique_ptr<Happening> happening);

  /// Returns when the client is woken, or at `until`; after its pause if it pauses then; at once if it is gone. If
  /// nothing is left that could ever wake a client, all are woken and is_stuck() holds from then on.
  void sleep(std::size_t client, double until);
  /// Returns after that many seconds of work plus the pauses in between; at once if the client is gone.
  void work(std::size_t client, double seconds);
  /// The client's last call, even if begin() returned false.
  void end(std::size_t client);

  /// Gives a sleeping client a turn after everything planned for this moment, or after its pause.
  void wake(std::size_t client);
  void wake_all();

  [[nodiscard]] bool is_stuck() const { return is_stuck_; }
  /// The client was lost and gets its thread back only to leave it: all others have ended.
  [[nodiscard]] bool is_gone(std::size_t client) const { return clients_[client].is_gone; }
  /// Lost or in a pause: the client would not answer.
  [[nodiscard]] bool is_silent(std::size_t client) const;
  [[nodiscard]] bool has_ended(std::size_t client) const { return clients_[client].state == State::ended; }

 private:
  /// Only one thread waits for it.
  class Baton {
   public:
    void give();
    void take();

   private:
    std::mutex mutex_;
    std::condition_variable given_;
    bool is_here_ = false;
  };

  enum class State : char { sleeping, working, running, ended };
  struct Client {
    Baton baton;
    std::vector<Pause> pauses;  // in order of time
    double lost_at = kNever;
    State state = State::working;
    bool is_woken = false;  // its next turn is planned
    bool is_gone = false;
    std::uint64_t turn = 0;    // turns so far
    double until = kNever;     // sleeping: when it gets a turn anyway
    double alarm_at = kNever;  // time of the planned alarm
  };

  /// Without a happening: the client's turn of this number, or an alarm, which checks whether it has slept long enough.
  struct Event {
    double time;
    std::uint64_t number;
    std::size_t client;
    std::uint64_t turn;
    std::unique_ptr<Happening> happening;

    [[nodiscard]] static bool is_later(const Event& a, const Event& b) {
      return a.time > b.time || (a.time == b.time && a.number > b.number);
    }
  };
  static constexpr std::uint64_t kAlarm = std::numeric_limits<std::uint64_t>::max();

  void push(double time, std::size_t client, std::uint64_t turn, std::unique_ptr<Happening> happening);
  [[nodiscard]] Event pop();
  void set_alarm(std::size_t client);
  void pass(std::size_t client);
  /// Processes events up to the next client's turn; none when all have ended.
  [[nodiscard]] std::optional<std::size_t> next_turn();
  [[nodiscard]] bool begins_turn(const Event& event);
  [[nodiscard]] double after_pause(std::size_t client, double time) const;

  double now_ = 0;
  bool is_stuck_ = false;
  bool is_called_off_ = false;
  std::uint64_t pushed_ = 0;
  std::vector<Event> events_;  // a heap, the earliest first
  std::vector<Client> clients_;
};

}  // namespace fedsinkhorn
