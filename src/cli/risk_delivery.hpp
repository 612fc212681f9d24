// Writes the results of a search for the worst case to the output folders.
#pragma once

#include <cstddef>

#include "cli/clients.hpp"
#include "cli/risk_arguments.hpp"
#include "cli/shared_folders.hpp"
#include "io/risk_summary.hpp"

namespace fedsinkhorn {

/// So many days are shown with their names, in tables and pictures.
inline constexpr std::size_t kDaysNamed = 20;

/// The first client with a folder writes what it knows: summary.json, worst-case.npy, .csv and .svg,
/// worst-case-radius.csv, worst-case-days.csv. Others in other processes that share the folder add the days they hold,
/// worst-case-days-2.csv. Every rank calls prepare() and write().
class RiskDelivery {
 public:
  /// Both must outlive this.
  RiskDelivery(const RiskArguments& arguments, const Clients& clients)
      : arguments_(arguments), clients_(clients), folders_(arguments.solve.output.folder, clients) {}

  void prepare();
  void write(const RiskResult& result, const RiskSummaryData& data);

 private:
  void stage(std::size_t client, const RiskResult& result, const RiskSummaryData& data) const;

  const RiskArguments& arguments_;
  const Clients& clients_;
  SharedFolders folders_;
};

}  // namespace fedsinkhorn
