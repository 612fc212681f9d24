// Tests that write files, each in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"

namespace fedsinkhorn::testing {

using Names = std::vector<std::string>;

inline std::string content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class InAFolder : public ::testing::Test {
 protected:
  /// Names of all there is in it, sorted.
  [[nodiscard]] Names listing() const {
    Names names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

}  // namespace fedsinkhorn::testing
