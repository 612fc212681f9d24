// The threads behind parallel_chunks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fedsinkhorn {

/// Wakes one thread. That thread spins briefly before it sleeps, since work often comes in quick succession.
class Doorbell {
 public:
  [[nodiscard]] std::uint32_t rings() const { return rings_.load(std::memory_order_acquire); }
  void ring();
  /// Returns once there are more rings than `seen`.
  void wait(std::uint32_t seen);

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<bool> is_anybody_asleep_{false};
};

/// Workers that help one thread, their caller. A call ends as soon as its chunks are done: a worker that lost its core,
/// or has not woken up yet, only delays it if it is in the middle of a chunk. Waiting threads sleep after a moment, to
/// free their cores.
///
/// Why a worker never touches a call that is over: threads take a chunk by counting down the rest of a share, in one
/// atomic step, and only then read what the call is about. The caller waits for all chunks taken before it sets up the
/// next call. A late worker finds nothing left, or takes a chunk of the next call.
class ThreadPool {
 public:
  /// What to do with a chunk: function(closure, chunk, thread).
  struct Body {
    void (*function)(const void* closure, std::size_t chunk, std::size_t thread);
    const void* closure;
  };

  /// The pool of the calling thread, of at least this size; it ends with that thread. Throws InputError if the system
  /// refuses threads.
  static ThreadPool& of_this_thread(std::size_t threads);
  /// Whether the calling thread is running a chunk: a loop inside another runs on its thread alone.
  static bool is_at_work();

  /// `threads` includes the caller.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const { return shares_.size(); }

  /// See parallel_chunks. Only for the caller; 1 <= threads <= size().
  void run(std::size_t threads, std::uint32_t chunks, Body body);

 private:
  /// The chunks that one thread begins with. On its own cache line, since different threads count it down.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> threads_and_left{0};  // 32 bits each: threads that may take chunks, chunks left
  };
  struct alignas(64) Worker {
    Doorbell bell;
    std::jthread thread;
  };

  void work(std::size_t thread);
  void serve(std::size_t thread);
  void end();

  // The current call. Written by the caller while no chunk is left, read by threads that have taken one.
  Body body_{};
  std::uint32_t chunks_ = 0;
  std::size_t threads_ = 0;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;

  std::vector<Share> shares_;
  std::atomic<std::uint32_t> unfinished_{0};
  Doorbell finished_;
  std::atomic<bool> is_ending_{false};
  std::vector<Worker> workers_;  // last, because they use the rest
};

}  // namespace fedsinkhorn
