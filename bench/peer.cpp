#include "peer.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace fedsinkhorn::bench {

std::optional<Peer> Peer::start(const std::string& name, const std::string& packages, const std::string& problem,
                                double epsilon, int threads, Report& report) {
  const std::string missing = fmt::format("{}: not installed: apt-get install {}", name, packages);
  if (!std::filesystem::exists(kPython)) {
    report.note(missing);
    return std::nullopt;
  }
  // The number of threads must be known before the libraries are loaded.
  auto child = std::make_unique<ChildProcess>(std::vector<std::string>{
      "/usr/bin/env", fmt::format("OMP_NUM_THREADS={}", threads), fmt::format("OPENBLAS_NUM_THREADS={}", threads),
      kPython, "-B", fmt::format("{}/{}_peer.py", FEDSINKHORN_PEERS, name), problem, fmt::format("{}", epsilon),
      fmt::format("{}", threads)});
  const nlohmann::json hello = nlohmann::json::parse(child->read_line());
  if (hello.contains("missing")) {
    report.note(missing);
    return std::nullopt;
  }
  report.note(hello.at("version").get<std::string>());
  return Peer(std::move(child));
}

nlohmann::json Peer::ask(const std::string& question) const { return nlohmann::json::parse(child_->ask(question)); }

Contender Peer::contender(const std::string& name, const std::string& question) const {
  return {name, [this, question] { return ask(question).at("seconds").get<double>(); }};
}

}  // namespace fedsinkhorn::bench
