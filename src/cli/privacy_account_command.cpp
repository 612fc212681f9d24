#include "cli/privacy_account_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/choices.hpp"
#include "cli/number_option.hpp"
#include "cli/output_format.hpp"
#include "cli/speaker.hpp"
#include "cli/word_option.hpp"
#include "fedsinkhorn/error.hpp"
#include "privacy/gaussian_accounting.hpp"

namespace fedsinkhorn {
namespace {

/// Beyond 2^53 float64 does not count.
constexpr IntegerRange kReleases{1, std::uint64_t{1} << 53U};

/// One entry for each kind of release.
struct AccountArguments {
  std::vector<double> sigma;
  std::vector<double> sensitivity;
  std::vector<std::uint64_t> releases = {1};
  double delta = 0;
  std::string format = "table";
};

struct CalibrateNoiseArguments {
  double epsilon = 0;
  double delta = 0;
  double sensitivity = 0;
  std::uint64_t releases = 1;
  std::string format = "table";
};

void require(bool holds, const char* flag, double value, const char* reason, const char* remedy) {
  if (!holds) throw InputError(flag, fmt::format("{} {}", value, reason), remedy);
}
void require_delta(double delta) {
  require(delta > 0 && delta < 1, "--delta", delta, "is not between 0 and 1", "give a small probability, such as 1e-6");
}
void require_sensitivity(double sensitivity) {
  require(sensitivity >= 0, "--sensitivity", sensitivity, "is negative",
          "give the largest L2 distance between releases of neighbouring data sets");
}

/// The k-th value of a list, or the only one.
template <class Number>
Number at(const std::vector<Number>& values, std::size_t k) {
  return values.size() == 1 ? values.front() : values[k];
}

/// The lists are as long as the longest or have one value.
std::size_t kinds_of(const AccountArguments& arguments) {
  const std::size_t kinds = std::max({arguments.sigma.size(), arguments.sensitivity.size(), arguments.releases.size()});
  const auto check = [kinds](const char* flag, std::size_t size) {
    if (size == 1 || size == kinds) return;
    throw InputError(flag, fmt::format("has {} values where another list has {}", size, kinds),
                     fmt::format("give {}, or one for all", kinds));
  };
  check("--sigma", arguments.sigma.size());
  check("--sensitivity", arguments.sensitivity.size());
  check("--releases", arguments.releases.size());
  return kinds;
}

std::vector<GaussianRelease> releases_of(const AccountArguments& arguments) {
  std::vector<GaussianRelease> all(kinds_of(arguments));
  for (std::size_t k = 0; k < all.size(); ++k) {
    all[k] = {at(arguments.sensitivity, k), at(arguments.sigma, k), static_cast<double>(at(arguments.releases, k))};
    require(all[k].sigma > 0, "--sigma", all[k].sigma, "is no standard deviation of noise", "give one above 0");
    require_sensitivity(all[k].sensitivity);
  }
  return all;
}

struct Account {
  double mu;
  double delta;
  double exact;
  RenyiBound tight;
  RenyiBound papers;
};

Account account_of(double mu, double delta) {
  return {mu, delta, exact_epsilon(mu, delta), renyi_epsilon(mu, delta, Conversion::tight),
          renyi_epsilon(mu, delta, Conversion::papers)};
}

std::vector<std::string> warnings_of(const Account& account) {
  std::vector<std::string> warnings;
  const auto check = [&](const RenyiBound& bound, const char* rule) {
    if (!bound.is_at_end) return;
    warnings.push_back(fmt::format(
        "RDP, {} rule: order {} is at an end of the grid; an order outside of it may give less", rule, bound.order));
  };
  check(account.tight, "tighter");
  check(account.papers, "paper's");
  return warnings;
}

std::string line(std::string_view name, const std::string& value) { return fmt::format("{:<18} {}\n", name, value); }

std::string meaning(double epsilon, double delta) {
  if (std::isinf(epsilon)) return "That is no guarantee.\n";
  const double factor = std::exp(epsilon);
  return fmt::format(
      "Exchanging the data set for a neighbouring one multiplies the probability of any outcome by at\n"
      "most e^epsilon{}, and adds at most delta = {:g} to it.\n",
      std::isinf(factor) ? "" : fmt::format(" = {:.4g}", factor), delta);
}

std::string account_table(const Account& account) {
  std::string text = line("epsilon", fmt::format("{:.10g} (exact, at delta = {:g})", account.exact, account.delta));
  text += meaning(account.exact, account.delta) + "\n";
  text += line("RDP, tighter rule", fmt::format("{:.10g} (order {})", account.tight.epsilon, account.tight.order));
  text += line("RDP, paper's rule", fmt::format("{:.10g} (order {})", account.papers.epsilon, account.papers.order));
  text += line("mu", fmt::format("{:.10g}", account.mu));
  for (const std::string& warning : warnings_of(account)) text += line("warning", warning);
  return text;
}

std::string account_json(const Account& account) {
  const nlohmann::ordered_json json = {{"epsilon_exact", account.exact},
                                       {"epsilon_rdp", account.tight.epsilon},
                                       {"epsilon_rdp_paper", account.papers.epsilon},
                                       {"rdp_order", account.tight.order},
                                       {"rdp_paper_order", account.papers.order},
                                       {"delta", account.delta},
                                       {"mu", account.mu},
                                       {"warnings", warnings_of(account)}};
  return json.dump(2) + "\n";
}

void run_account(const AccountArguments& arguments) {
  const auto format = choice<Format>("--format", arguments.format);
  const std::vector<GaussianRelease> releases = releases_of(arguments);
  require_delta(arguments.delta);
  const Account account = account_of(composed_mu(releases), arguments.delta);
  if (speaks_for_all()) fmt::print("{}", format == Format::json ? account_json(account) : account_table(account));
}

void run_calibrate_noise(const CalibrateNoiseArguments& arguments) {
  const auto format = choice<Format>("--format", arguments.format);
  require(arguments.epsilon > 0, "--epsilon", arguments.epsilon, "is no budget", "give a number above 0");
  require_delta(arguments.delta);
  require_sensitivity(arguments.sensitivity);
  const auto releases = static_cast<double>(arguments.releases);
  const double sigma = calibrated_sigma(arguments.epsilon, arguments.delta, arguments.sensitivity, releases);
  if (!std::isfinite(sigma)) {
    throw InputError("--sensitivity", "asks for more noise than float64 can hold", "give the data in other units");
  }
  const double mu = composed_mu(std::array{GaussianRelease{arguments.sensitivity, sigma, releases}});
  const double epsilon = exact_epsilon(mu, arguments.delta);
  if (!speaks_for_all()) return;
  if (format == Format::json) {
    const nlohmann::ordered_json json = {
        {"sigma", sigma}, {"epsilon_exact", epsilon}, {"delta", arguments.delta}, {"mu", mu}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}", line("sigma", fmt::format("{} (of the noise in every coordinate of each release)", sigma)));
  fmt::print(
      "{}", line("epsilon", fmt::format("{:.10g} (exact, of {} release{} at delta = {:g})", epsilon, arguments.releases,
                                        arguments.releases == 1 ? "" : "s", arguments.delta)));
  fmt::print("{}", meaning(epsilon, arguments.delta));
}

}  // namespace

void add_account_command(CLI::App& privacy) {
  CLI::App* command =
      privacy.add_subcommand("account", "Compute the epsilon of releases with Gaussian noise; lists for unequal ones");
  const auto arguments = std::make_shared<AccountArguments>();
  add_real_list(*command, "--sigma", arguments->sigma, "Standard deviation of the noise")->required();
  add_real_list(*command, "--sensitivity", arguments->sensitivity,
                "Largest L2 distance between releases of neighbouring data sets")
      ->required();
  add_integer_list(*command, "--releases", arguments->releases, kReleases, "How many are sent; default 1");
  command->add_option("--delta", arguments->delta, "Probability that the guarantee may miss")
      ->transform(real())
      ->required();
  add_format(*command, arguments->format);
  command->callback([arguments] { run_account(*arguments); });
}

void add_calibrate_command(CLI::App& privacy) {
  CLI::App* command = privacy.add_subcommand("calibrate", "Compute the least Gaussian noise that keeps a budget");
  const auto arguments = std::make_shared<CalibrateNoiseArguments>();
  command->add_option("--epsilon", arguments->epsilon, "The budget, for all releases together")
      ->transform(real())
      ->required();
  command->add_option("--delta", arguments->delta, "Probability that the guarantee may miss")
      ->transform(real())
      ->required();
  command
      ->add_option("--sensitivity", arguments->sensitivity,
                   "Largest L2 distance between releases of neighbouring data sets")
      ->transform(real())
      ->required();
  command->add_option("--releases", arguments->releases, "How many are sent")
      ->transform(integer(kReleases))
      ->capture_default_str();
  add_format(*command, arguments->format);
  command->callback([arguments] { run_calibrate_noise(*arguments); });
}

}  // namespace fedsinkhorn
