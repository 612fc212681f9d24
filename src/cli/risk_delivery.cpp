#include "cli/risk_delivery.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/solve_inputs.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/atomic_file.hpp"
#include "io/result_names.hpp"
#include "report/risk_picture.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

/// The result as that client of this process would have it alone: its own days and report.
RiskResult risk_view_of_client(const RiskResult& result, std::size_t client) {
  RiskResult view = result;
  const auto is_own = [client](const ClientReport& report) { return report.client == client; };
  const auto own = std::ranges::find_if(result.clients, is_own);
  if (own == result.clients.end()) return view;
  std::erase_if(view.moves,
                [&](const DayMove& move) { return move.day < own->first_row || move.day >= own->last_row; });
  view.clients = {*own};
  view.this_client = client;
  if (view.coupling && view.coupling->f.size() == view.coupling->rows) {
    const std::vector<double>& f = result.coupling->f;
    view.coupling->f.assign(f.begin() + static_cast<std::ptrdiff_t>(own->first_row),
                            f.begin() + static_cast<std::ptrdiff_t>(own->last_row));
  }
  return view;
}

void write_all(const fs::path& folder, const RiskResult& result, const RiskSummaryData& data) {
  const RiskPictureData picture{.title = "Worst case of a portfolio",
                                .result = result,
                                .epsilon = data.epsilon,
                                .cvar_level = data.cvar_level,
                                .day_labels = data.labels.days,
                                .first_day = data.labels.first_day,
                                .scenario_labels = data.labels.scenarios};
  write_npy(folder / "worst-case.npy", result.scenario_weights, std::vector{result.scenario_weights.size()});
  write_file_atomically(folder / "worst-case.csv", worst_case_csv(result, data.labels.scenarios));
  if (!result.coupling) write_file_atomically(folder / "worst-case-radius.csv", radius_csv(result));
  if (!result.moves.empty()) write_file_atomically(folder / "worst-case-days.csv", days_csv(result, data.labels));
  if (result.coupling) {
    const Result& coupling = *result.coupling;
    const bool is_whole = coupling.f.size() == coupling.rows;
    const std::string name = is_whole ? "f.npy" : name_of_client("f", result.this_client, ".npy");
    write_npy(folder / name, coupling.f, std::vector{coupling.f.size()});
    write_npy(folder / "g.npy", coupling.g, std::vector{coupling.g.size()});
  }
  write_file_atomically(folder / "worst-case.svg", risk_picture(picture));
  write_file_atomically(folder / kSummaryName, risk_summary_json(result, data));
}

}  // namespace

void RiskDelivery::prepare() {
  folders_.prepare([&](std::size_t client) { return arguments_.files.paths(client); }, arguments_.files.in_parts());
}

void RiskDelivery::write(const RiskResult& result, const RiskSummaryData& data) {
  folders_.write(
      [&] {
        for (std::size_t k = clients_.first; k < clients_.first + clients_.count; ++k) stage(k, result, data);
      },
      [] {});
}

void RiskDelivery::stage(std::size_t client, const RiskResult& result, const RiskSummaryData& data) const {
  const bool leads = folders_.leaders[client] == client;
  // Folders of their own are for clients that keep their days to themselves.
  const bool has_own_folder = is_part(arguments_.solve.output.folder) && result.policy != "open";
  const bool knows_all = !clients_.share_process() || (client == 0 && !has_own_folder);
  if (leads)
    return write_all(folders_.staging_of(client), knows_all ? result : risk_view_of_client(result, client), data);
  if (clients_.share_process() || result.moves.empty()) return;  // the leader's files have its days, or there are none
  write_file_atomically(folders_.staging_of(client) / name_of_client("worst-case-days", client, ".csv"),
                        days_csv(result, data.labels));
}

}  // namespace fedsinkhorn
