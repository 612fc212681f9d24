// A thread for every connection, and not too many of them.
#pragma once

#include <httplib.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <system_error>
#include <thread>
#include <utility>

namespace fedsinkhorn {

/// There are threads only while there are connections. Used by the accepting thread alone. A connection for which there
/// is no thread is dealt with by that thread itself: see WatchServer::Server, which refuses it there.
class ViewerThreads final : public httplib::TaskQueue {
 public:
  explicit ViewerThreads(std::size_t most) : most_(most) {}

  void enqueue(std::function<void()> connection) override {
    threads_.remove_if([](const Worker& worker) { return worker.is_done.load(); });
    if (threads_.size() < most_ && start(connection)) return;
    connection();
  }
  void shutdown() override { threads_.clear(); }

 private:
  struct Worker {
    std::atomic<bool> is_done = false;
    std::jthread thread;  // joined by its end
  };

  [[nodiscard]] bool start(const std::function<void()>& connection) {
    Worker& worker = threads_.emplace_back();
    try {
      worker.thread = std::jthread([&worker, connection] {
        connection();
        worker.is_done = true;
      });
    } catch (const std::system_error&) {  // the system grants no more threads
      threads_.pop_back();
      return false;
    }
    return true;
  }

  std::size_t most_;
  std::list<Worker> threads_;
};

}  // namespace fedsinkhorn
