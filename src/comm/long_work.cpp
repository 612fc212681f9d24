#include "comm/long_work.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <system_error>

namespace fedsinkhorn {
namespace {

std::future<Mishap> start(const std::function<void()>& body) {
  const auto attempt = [&body] { return mishap_of(body); };
  try {
    return std::async(std::launch::async, attempt);
  } catch (const std::system_error&) {  // no thread available: the others have to wait
    std::promise<Mishap> done;
    done.set_value(attempt());
    return done.get_future();
  }
}

}  // namespace

void agree_on_long_work(const Collectives& clients, const std::function<void()>& body,
                        const std::function<void()>& abandon) {
  std::future<Mishap> work = start(body);
  const std::chrono::duration<double> between(std::min(1.0, clients.communicator().timeout() / 4));
  try {
    bool all_done = false;
    while (!all_done) {
      const bool done = work.wait_for(between) == std::future_status::ready;
      const std::array<double, 1> mine = {done ? 1.0 : 0.0};
      const std::vector<double> said = clients.of(Payload::control).allgather_numbers(mine);
      all_done = true;
      for (std::size_t k = 0; k < said.size(); ++k) {
        all_done = from_peer(clients, k).truth(said[k], "an answer to whether it is done") && all_done;
      }
    }
  } catch (...) {
    abandon();
    work.wait();
    throw;
  }
  share_mishap(clients, work.get());
}

}  // namespace fedsinkhorn
