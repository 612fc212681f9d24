// A case as a user of the program would have it: files and a command line.
#pragma once

#include <filesystem>
#include <string>

#include "torture/judge.hpp"
#include "torture/random_case.hpp"

namespace fedsinkhorn::torture {

/// The arguments of the program, names of files being those that write_case() writes.
[[nodiscard]] std::string command_line(const Case& it);

/// Writes the inputs as .npy files, and the command line as command.txt.
void write_case(const Case& it, const std::filesystem::path& folder);

/// Solves it with the program, in a folder of its own, and judges what that wrote.
[[nodiscard]] Verdict run_program_and_judge(const Case& it, const std::string& program);

}  // namespace fedsinkhorn::torture
