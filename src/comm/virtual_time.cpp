#include "comm/virtual_time.hpp"

#include <algorithm>
#include <utility>

namespace fedsinkhorn {

void VirtualTime::Baton::give() {
  {
    const std::lock_guard lock(mutex_);
    is_here_ = true;
  }
  given_.notify_one();
}

void VirtualTime::Baton::take() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return is_here_; });
  is_here_ = false;
}

VirtualTime::VirtualTime(std::size_t clients, const std::vector<ClientScenario>& special) : clients_(clients) {
  for (const ClientScenario& one : special) {
    Client& client = clients_.at(one.client);
    client.pauses = one.pauses;
    std::ranges::sort(client.pauses, {}, &Pause::at);
    client.lost_at = one.lost_at.value_or(kNever);
  }
  for (std::size_t k = 0; k < clients; ++k) push(after_pause(k, 0), k, 0, nullptr);
}

bool VirtualTime::begin(std::size_t client) {
  if (client == 0) {
    pass(0);
  } else {
    clients_[client].baton.take();
  }
  return !is_called_off_ && !clients_[client].is_gone;
}

void VirtualTime::call_off() {
  is_called_off_ = true;
  for (Client& client : clients_) client.baton.give();
}

void VirtualTime::plan(double time, std::unique_ptr<Happening> happening) { push(time, 0, 0, std::move(happening)); }

void VirtualTime::sleep(std::size_t client, double until) {
  Client& self = clients_[client];
  if (self.is_gone) return;
  self.state = State::sleeping;
  self.is_woken = false;
  self.until = after_pause(client, until);
  set_alarm(client);
  pass(client);
}

void VirtualTime::work(std::size_t client, double seconds) {
  Client& self = clients_[client];
  if (self.is_gone) return;
  double end = now_ + seconds;
  for (const Pause& pause : self.pauses) {
    if (pause.at >= now_ && pause.at < end) end += pause.seconds;
  }
  self.state = State::working;
  push(after_pause(client, end), client, self.turn, nullptr);
  pass(client);
}

void VirtualTime::end(std::size_t client) {
  if (is_called_off_) return;
  clients_[client].state = State::ended;
  if (const auto next = next_turn()) clients_[*next].baton.give();
}

void VirtualTime::wake(std::size_t client) {
  Client& sleeper = clients_[client];
  if (sleeper.state != State::sleeping || sleeper.is_woken) return;
  sleeper.is_woken = true;
  push(after_pause(client, now_), client, sleeper.turn, nullptr);
}

void VirtualTime::wake_all() {
  for (std::size_t k = 0; k < clients_.size(); ++k) wake(k);
}

bool VirtualTime::is_silent(std::size_t client) const {
  const Client& other = clients_[client];
  return !has_ended(client) && (now_ >= other.lost_at || after_pause(client, now_) > now_);
}

void VirtualTime::push(double time, std::size_t client, std::uint64_t turn, std::unique_ptr<Happening> happening) {
  events_.push_back({time, pushed_++, client, turn, std::move(happening)});
  std::push_heap(events_.begin(), events_.end(), Event::is_later);
}

VirtualTime::Event VirtualTime::pop() {
  std::pop_heap(events_.begin(), events_.end(), Event::is_later);
  Event first = std::move(events_.back());
  events_.pop_back();
  return first;
}

// Most sleepers are woken long before their alarm. To keep alarms from piling up, one that is already planned and rings
// too early sets the next.
void VirtualTime::set_alarm(std::size_t client) {
  Client& sleeper = clients_[client];
  if (sleeper.until >= sleeper.alarm_at || sleeper.until == kNever) return;
  sleeper.alarm_at = sleeper.until;
  push(sleeper.until, client, kAlarm, nullptr);
}

void VirtualTime::pass(std::size_t client) {
  const auto next = next_turn();  // there is one: this client at least has not ended
  if (*next == client) return;
  clients_[*next].baton.give();
  clients_[client].baton.take();
}

std::optional<std::size_t> VirtualTime::next_turn() {
  const auto waits_for_ever = [](const Client& client) {
    return client.state == State::sleeping && client.lost_at == kNever;
  };
  for (;;) {
    if (events_.empty()) {
      if (is_stuck_ || std::ranges::none_of(clients_, waits_for_ever)) break;
      is_stuck_ = true;
      wake_all();
    }
    const Event event = pop();
    if (event.happening) {
      now_ = event.time;
      event.happening->happen();
    } else if (begins_turn(event)) {
      now_ = event.time;
      Client& client = clients_[event.client];
      client.state = State::running;
      ++client.turn;
      return event.client;
    }
  }
  // No event is left: the remaining clients are lost, or idle until they will be.
  for (std::size_t k = 0; k < clients_.size(); ++k) {
    if (clients_[k].state == State::ended) continue;
    clients_[k].is_gone = true;
    return k;
  }
  return std::nullopt;
}

bool VirtualTime::begins_turn(const Event& event) {
  Client& client = clients_[event.client];
  if (event.time >= client.lost_at) return false;
  if (event.turn != kAlarm) return event.turn == client.turn && client.state != State::ended;
  if (event.time != client.alarm_at) return false;  // an earlier one was set since
  client.alarm_at = kNever;
  if (client.state != State::sleeping) return false;
  if (client.until <= event.time) return true;
  set_alarm(event.client);
  return false;
}

double VirtualTime::after_pause(std::size_t client, double time) const {
  for (const Pause& pause : clients_[client].pauses) {
    if (time >= pause.at && time < pause.at + pause.seconds) time = pause.at + pause.seconds;
  }
  return time;
}

}  // namespace fedsinkhorn
