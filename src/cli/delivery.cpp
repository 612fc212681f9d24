#include "cli/delivery.hpp"
#include "cli/flag_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/refusal.hpp"
#include "cli/view_of_plan.hpp"
#include "comm/last_words.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "report/run_page.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A remaining client learns of the loss while it waits, or after its current pass over the kernel. The promise to end
// within 5 s after the time limit leaves this much.
constexpr auto kOthersToFinish = 1500ms;

// Per client: what the solve has already accepted from it, in units of 8 bytes.
constexpr std::uint64_t kMostCoordinates = std::uint64_t{1} << 40U;

void append_points(const AnyMatrix& points, std::vector<double>& to) {
  std::visit([&to](const auto& view) { to.insert(to.end(), view.data, view.data + view.rows * view.columns); }, points);
}

std::vector<double> points_of_all(const Collectives& clients, const AnyMatrix& mine) {
  std::vector<double> own;
  append_points(mine, own);
  const std::array<double, 1> count = {static_cast<double>(own.size())};
  std::vector<std::size_t> counts;
  std::size_t before = 0;
  std::size_t total = 0;
  const std::vector<double> said = clients.of(Payload::shape).allgather_numbers(count);
  for (std::size_t k = 0; k < said.size(); ++k) {
    if (k == clients.rank()) before = total;
    counts.push_back(from_peer(clients, k).count(said[k], kMostCoordinates, "a number of coordinates"));
    total += counts.back();
  }
  std::vector<double> all(total);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(before));
  clients.of(Payload::slice).allgather(all, counts);
  return all;
}

}  // namespace

bool Delivery::is_each_client_served() const {
  const bool are_apart = !clients_.share_process() || arguments_.files.in_parts() || is_part(arguments_.output.folder);
  return arguments_.output.keep_local || (clients_.all > 1 && are_apart);
}

ClientFiles Delivery::files_of(std::size_t client) const {
  const OutputPlan& output = arguments_.output;
  const std::size_t leader = folders_.leaders[client];
  ClientFiles files;
  files.client = client;
  files.shared = leader == client;
  files.whole_f = client == 0 && !output.keep_local;
  files.own = is_each_client_served();
  files.own_summary = files.own && std::count(folders_.leaders.begin(), folders_.leaders.end(), leader) > 1;
  return files;
}

// ---------------------------------------------------------------------------------------------------------------------

void Delivery::prepare() {
  folders_.prepare([&](std::size_t client) { return arguments_.files.paths(client); }, arguments_.files.in_parts());
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<Problem> Delivery::problems_with_all_columns(const std::vector<std::unique_ptr<Inputs>>& inputs) {
  std::vector<Problem> problems;
  problems.reserve(inputs.size());
  for (const auto& of_client : inputs) problems.push_back(of_client->problem);
  if (!arguments_.output.plan || !problems.front().parts.columns) return problems;
  if (clients_.share_process()) {
    for (const Problem& problem : problems) append_points(std::get<PointClouds>(problem.cost).y, points_);
  } else {
    points_ = points_of_all(clients_.collectives(), std::get<PointClouds>(problems.front().cost).y);
  }
  for (Problem& problem : problems) {
    auto& points = std::get<PointClouds>(problem.cost);
    const std::size_t dimension = columns_of(points.y);
    points.y = MatrixView<double>{points_.data(), points_.size() / dimension, dimension};
    problem.parts.columns = false;
  }
  return problems;
}

void Delivery::write(const Options& options, const std::vector<std::unique_ptr<Inputs>>& inputs, const Result& result) {
  if (!folders_.are_wanted()) return;
  const std::vector<Problem> problems = problems_with_all_columns(inputs);
  images_ = inputs.front()->images;
  folders_.write([&] { stage(options, problems, result); }, [&] { abandon_ = true; });
}

void Delivery::stage(const Options& options, const std::vector<Problem>& problems, const Result& result) {
  for (std::size_t k = clients_.first; k < clients_.first + clients_.count; ++k) {
    ClientFiles files = files_of(k);
    if (!files.shared && !files.own) continue;
    const Problem& problem = problems.size() > 1 ? problems[k - clients_.first] : problems.front();
    const bool has_costs = options.topology != "star" || clients_.share_process() || k == 0;
    files.costs = &problem;
    files.own_plan = arguments_.output.plan && files.own && has_costs;
    files.plan = arguments_.output.plan && files.whole_f && !problem.parts.rows;
    const bool shares_all = k == 0 || !clients_.share_process();
    write_client_files(folders_.staging_of(k), files, options, problem.epsilon,
                       shares_all ? result : view_of_client(result, k), abandon_);
    if (arguments_.output.report && files.shared) stage_report(k, files, problem, options, result);
  }
}

void Delivery::stage_report(std::size_t client, const ClientFiles& files, const Problem& problem,
                            const Options& options, const Result& result) {
  const fs::path staging = folders_.staging_of(client);
  const bool knows_plan =
      files.whole_f && !problem.parts.rows && !problem.parts.columns && result.f.size() == result.rows * result.targets;
  if (knows_plan) {
    write_file_atomically(staging / "plan-view.json",
                          report::plan_view_json(view_of_plan(problem, result, options.threads, images_)));
  }
  report::RunRecord record = report::read_run_record(staging);
  record.name = fs::absolute(folders_.folder_of(client)).lexically_normal().filename().string();
  if (!knows_plan) {
    record.notes.emplace_back("The plan is not shown: no client has all of f and of the costs.");
  }
  write_file_atomically(staging / "report.html", report::page_html(report::run_page(record)));
}

// ---------------------------------------------------------------------------------------------------------------------

void Delivery::write_what_is_left(const Options& options, const Result* result, const ClientLost& lost) noexcept {
  if (!folders_.are_wanted() || !folders_.are_prepared()) return;
  if (clients_.sums) return;  // clients of a server do not reach each other, and have nothing to write then
  try {
    if (!clients_.share_process()) {
      write_what_is_left_of_ranks(options, result, lost);
    } else if (result != nullptr) {
      write_what_is_left_in_process(options, *result);
    }
  } catch (const std::exception& error) {
    // What the run ends with is the loss.
    fmt::print(stderr, "{}\n", refusal_line(with_flags(error.what())));
  }
}

// One client knows all potentials, and in one process they are in the same place anyway.
void Delivery::write_what_is_left_in_process(const Options& options, const Result& result) {
  OutputSet set(folders_.folders.at(0)->path(), folders_.staging_names[0]);
  const ClientFiles files;
  write_client_files(set.staging(), files, options, arguments_.files.epsilon, result, abandon_);
  set.commit();
  folders_.folders.at(0)->keep();
}

void Delivery::write_what_is_left_of_ranks(const Options& options, const Result* result, const ClientLost& lost) {
  const std::size_t me = clients_.first;
  const auto is_left = [&](std::size_t rank) { return std::ranges::find(lost.lost(), rank) == lost.lost().end(); };
  if (!is_left(me)) return;  // was suspended: the others continued without it
  // Among remaining ranks with the same folder, the first leads and the others follow.
  std::size_t speaker = me;
  std::size_t leader = me;
  std::vector<std::size_t> followers;
  std::vector<std::size_t> other_leaders;
  std::map<std::size_t, std::size_t> first_of;
  for (std::size_t rank = 0; rank < clients_.all; ++rank) {
    if (!is_left(rank)) continue;
    if (first_of.empty()) speaker = rank;
    const bool leads = first_of.emplace(folders_.leaders[rank], rank).second;
    if (leads && rank != speaker) other_leaders.push_back(rank);
    if (!leads && first_of[folders_.leaders[rank]] == me) followers.push_back(rank);
  }
  leader = first_of[folders_.leaders[me]];
  // The leader removes the folder if it stays empty: a follower may end before the leader has looked into it.
  if (leader != me) folders_.folders.at(me)->keep();

  LastWords words(clients_.communicator());
  const bool was_committed = leader == me && folders_.sets.contains(me) && !folders_.sets[me];
  std::exception_ptr mishap;
  try {
    std::unique_ptr<OutputSet> set = std::move(folders_.sets[me]);
    if (leader == me && !set)
      set = std::make_unique<OutputSet>(folders_.folders.at(me)->path(), folders_.staging_names[me]);
    if (result != nullptr && !was_committed) {
      ClientFiles files = files_of(me);
      files.shared = leader == me;
      files.whole_f =
          me == speaker && !arguments_.output.keep_local && result->f.size() == result->rows * result->targets;
      fs::create_directories(folders_.staging_of(me, leader));  // the leader may not have done so yet
      write_client_files(folders_.staging_of(me, leader), files, options, arguments_.files.epsilon, *result, abandon_);
      folders_.folders.at(me)->keep();
    }
    if (leader == me) {
      words.await_done(followers, kOthersToFinish);
      if (!was_committed && set->has_files()) set->commit();
    }
  } catch (...) {
    mishap = std::current_exception();
  }
  if (leader != me) words.tell_done(leader);
  if (leader == me && me != speaker) words.tell_done(speaker);
  if (me == speaker) words.await_done(other_leaders, kOthersToFinish);
  if (mishap) std::rethrow_exception(mishap);
}

}  // namespace fedsinkhorn
