// The clock of a simulation, and whose turn it is.
//
// Every client has a thread of its own, but only the one that holds the baton runs, and no time passes while it does.
// To let time pass it hands the baton to the client with the earliest event. So nothing depends on how fast this
// machine is, and what the clients share needs no locks.
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

  /// Something that takes place at its time, whoever holds the baton then. It may plan more and wake clients.
  class Happening {
   public:
    virtual ~Happening() = default;
    Happening() = default;
    Happening(const Happening&) = delete;
    Happening& operator=(const Happening&) = delete;
    virtual void happen() = 0;
  };

  /// special: of some of the clients; pauses do not overlap.
  VirtualTime(std::size_t clients, const std::vector<ClientScenario>& special);

  // Without the baton.

  /// Client 0 hands out the baton for the first time. All return when their first turn has come; false if it never
  /// will: the client is gone, or the run was called off.
  [[nodiscard]] bool begin(std::size_t client);
  /// Instead of client 0's begin: nobody else begins either.
  void call_off();

  // With the baton. Those with a client are for its own thread.

  [[nodiscard]] double now() const { return now_; }
  /// Of two at the same time, the one planned first happens first.
  void plan(double time, std::unique_ptr<Happening> happening);

  /// Returns when somebody has woken the client, or at `until`; later if it pauses then. At once for one that is gone.
  /// If nothing is left that could ever wake anybody, all are woken and is_stuck() from then on.
  void sleep(std::size_t client, double until);
  /// Returns after so many seconds of work, and those of the pauses in between. At once for one that is gone.
  void work(std::size_t client, double seconds);
  /// The client's last word, also after a begin() that returned false.
  void end(std::size_t client);

  /// If it sleeps, it gets a turn: when what is planned for this very moment has happened, or after its pause.
  void wake(std::size_t client);
  void wake_all();

  [[nodiscard]] bool is_stuck() const { return is_stuck_; }
  /// It was lost, and has its thread back only to leave it: all others have ended.
  [[nodiscard]] bool is_gone(std::size_t client) const { return clients_[client].is_gone; }
  /// Lost by now, or in a pause: it would not answer.
  [[nodiscard]] bool is_silent(std::size_t client) const;
  [[nodiscard]] bool has_ended(std::size_t client) const { return clients_[client].state == State::ended; }

 private:
  /// Waited for by one thread.
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
    std::vector<Pause> pauses;  // in the order of time
    double lost_at = kNever;
    State state = State::working;
    bool is_woken = false;  // its next turn is planned
    bool is_gone = false;
    std::uint64_t turn = 0;    // how many it had
    double until = kNever;     // sleeping: when it gets a turn anyway
    double alarm_at = kNever;  // an alarm is planned for then
  };

  /// With nothing to happen: the client's turn of this number, or an alarm, which looks whether it has slept enough.
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
  /// Lets happen what comes first, up to a client's turn; none when all have ended.
  [[nodiscard]] std::optional<std::size_t> next_turn();
  [[nodiscard]] bool begins_turn(const Event& event);
  [[nodiscard]] double after_pause(std::size_t client, double time) const;

  double now_ = 0;
  bool is_stuck_ = false;
  bool is_called_off_ = false;
  std::uint64_t pushed_ = 0;
  std::vector<Event> events_;  // a heap, the earliest in front
  std::vector<Client> clients_;
};

}  // namespace fedsinkhorn
