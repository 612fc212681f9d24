#include "core/thread_pool.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "core/range.hpp"
#include "core/refused_threads.hpp"

namespace fedsinkhorn {
namespace {

// About the time to wake a sleeping thread, so waiting takes at most twice as long as necessary. Spinning longer could
// take the core from the very thread that is waited for.
constexpr std::chrono::microseconds kSpin{50};

thread_local bool is_this_thread_at_work = false;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A thread's pool. A forked child has no workers: it leaves their pool alone and makes a new one.
class PoolOfProcess {
 public:
  PoolOfProcess() = default;
  ~PoolOfProcess() { leave_to_parent(); }
  PoolOfProcess(const PoolOfProcess&) = delete;
  PoolOfProcess& operator=(const PoolOfProcess&) = delete;

  ThreadPool& get(std::size_t threads) {
    leave_to_parent();
    if (!pool_ || pool_->size() < threads) {
      pool_.reset();  // first, so that there are never more threads than needed
      pool_ = std::make_unique<ThreadPool>(threads);
      process_ = getpid();
    }
    return *pool_;
  }

 private:
  void leave_to_parent() {
    if (pool_ && process_ != getpid()) (void)pool_.release();  // joining threads that do not exist would block forever
  }

  std::unique_ptr<ThreadPool> pool_;
  pid_t process_ = 0;
};

thread_local PoolOfProcess pool_of_this_thread;

}  // namespace

void Doorbell::ring() {
  rings_.fetch_add(1);
  // Both sequentially consistent: either this sees a sleeping thread, or a thread about to sleep sees the ring.
  if (is_anybody_asleep_.load()) syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Doorbell::wait(std::uint32_t seen) {
  constexpr int pauses_per_look = 8;
  const auto begin = std::chrono::steady_clock::now();
  while (rings() == seen && std::chrono::steady_clock::now() - begin < kSpin) {
    for (int k = 0; k < pauses_per_look && rings() == seen; ++k) pause_processor();
  }
  if (rings() != seen) return;
  is_anybody_asleep_.store(true);
  while (rings_.load() == seen) syscall(SYS_futex, &rings_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  is_anybody_asleep_.store(false);
}

ThreadPool& ThreadPool::of_this_thread(std::size_t threads) { return pool_of_this_thread.get(threads); }

bool ThreadPool::is_at_work() { return is_this_thread_at_work; }

ThreadPool::ThreadPool(std::size_t threads) : shares_(threads), workers_(threads - 1) {
  try {
    for (std::size_t thread = 1; thread < threads; ++thread) {
      workers_[thread - 1].thread = std::jthread([this, thread] { serve(thread); });
    }
  } catch (const std::system_error&) {
    end();
    refuse_threads("`threads`", threads);
  } catch (...) {
    end();
    throw;
  }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() {
  is_ending_ = true;
  for (Worker& worker : workers_) worker.bell.ring();
}

void ThreadPool::serve(std::size_t thread) {
  is_this_thread_at_work = true;
  Doorbell& bell = workers_[thread - 1].bell;
  for (std::uint32_t seen = 0; !is_ending_;) {
    bell.wait(seen);
    seen = bell.rings();
    work(thread);
  }
}

void ThreadPool::run(std::size_t threads, std::uint32_t chunks, Body body) {
  body_ = body;
  chunks_ = chunks;
  threads_ = threads;
  unfinished_.store(chunks, std::memory_order_relaxed);
  for (std::size_t k = 0; k < threads; ++k) {
    // Workers may begin from here on: everything they read is set.
    shares_[k].threads_and_left.store(std::uint64_t{threads} << 32U | chunk_range(chunks, threads, k).size(),
                                      std::memory_order_release);
  }
  for (std::size_t k = 1; k < threads; ++k) workers_[k - 1].bell.ring();
  is_this_thread_at_work = true;
  work(0);
  is_this_thread_at_work = false;
  for (;;) {
    // In this order: the last chunk is counted before the bell rings. A ring may also be a late one of an earlier call.
    const std::uint32_t seen = finished_.rings();
    if (unfinished_.load(std::memory_order_acquire) == 0) break;
    finished_.wait(seen);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Takes chunks while there are any.
void ThreadPool::work(std::size_t thread) {
  std::uint32_t done = 0;
  for (std::size_t k = 0; k < shares_.size(); ++k) {
    const std::size_t owner = (thread + k) % shares_.size();
    auto& share = shares_[owner].threads_and_left;
    std::uint64_t seen = share.load(std::memory_order_relaxed);
    while (static_cast<std::uint32_t>(seen) != 0 && thread < seen >> 32U) {
      if (!share.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
      const std::size_t left = static_cast<std::uint32_t>(seen);
      try {
        body_.function(body_.closure, chunk_range(chunks_, threads_, owner).last - left, thread);
      } catch (...) {
        const std::lock_guard lock(failure_mutex_);
        failure_ = std::current_exception();
      }
      ++done;
      seen = share.load(std::memory_order_relaxed);
    }
  }
  if (done != 0 && unfinished_.fetch_sub(done, std::memory_order_acq_rel) == done && thread != 0) finished_.ring();
}

}  // namespace fedsinkhorn
