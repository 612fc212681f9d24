// Measures what predictions are made from: passes over kernels and the exchanges of the topologies, as they are.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

/// From kernels that fit into a core's cache to one that fits into none. No powers of two, whose rows collide in
/// caches.
[[nodiscard]] std::vector<std::size_t> sizes_for_caches();

struct CalibrationPlan {
  std::vector<std::size_t> clients = {1};  ///< numbers of clients to measure with, ascending
  std::vector<std::string> kernels = {"dense", "online"};
  std::vector<Precision> precisions = {Precision::float64, Precision::float32, Precision::mixed};
  std::vector<std::size_t> targets = {1, 4, 16};
  std::vector<std::size_t> sizes = sizes_for_caches();  ///< n of the n x n kernels
  std::size_t online_size = 1480;                       ///< the same, kernel online
  std::vector<std::size_t> dimensions = {2, 64};        ///< of points, kernel online
  bool with_secure_sums = true;
  bool with_passes = true;
  int threads = 0;      ///< of a client; 0: the machine's cores shared out
  double timeout = 60;  ///< seconds to wait for a client
  /// Called by client 0 with what is done next and the share of the work that is behind it.
  std::function<void(const std::string& what, double share)> on_step{};
};

/// 1, 2, 4, ... up to `most`, and `most` itself.
[[nodiscard]] std::vector<std::size_t> numbers_of_clients(std::size_t most);

/// As one of the clients. All take part in everything: those that are too many for a measurement wait, as the clients
/// of a star do. Client 0 gets the profile.
[[nodiscard]] Profile calibrate_as_client(Communicator& everyone, const CalibrationPlan& plan);
/// Clients of this process on threads. One run for each number of them.
[[nodiscard]] Profile calibrate_threads(const CalibrationPlan& plan);

/// This machine, as profiles describe it.
[[nodiscard]] ProfileMachine this_machine_now();

// The parts, in a run of exactly as many clients as `group` has.
void measure_passes(Communicator& group, std::size_t clients, bool works_alone, const CalibrationPlan& plan,
                    const std::function<void(const std::string& what)>& step, std::vector<PassTime>& times);
void measure_exchanges(Communicator& group, const CalibrationPlan& plan,
                       const std::function<void(const std::string& what)>& step, std::vector<ExchangeTime>& times,
                       LinkModel& links);
/// Element-wise work of an iteration, by this client alone.
void measure_element_wise(int threads, Profile& profile);

}  // namespace fedsinkhorn
