// What mpirun sets in the environment. Also needed in builds without MPI: started by mpirun, such a program must report
// that it cannot take part instead of solving the whole problem once per process.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "comm/transports.hpp"

namespace fedsinkhorn {
namespace {

/// The first of these variables that holds a number.
std::size_t first_number(std::initializer_list<const char*> names, std::size_t otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text = value;
    std::size_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) return number;
  }
  return otherwise;
}

}  // namespace

bool started_by_mpi() {
  // Open MPI; anything with PMIx (PRRTE, Slurm); MPICH, Intel MPI and Slurm's PMI.
  constexpr std::array kSigns = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"};
  return std::ranges::any_of(kSigns, [](const char* name) { return std::getenv(name) != nullptr; });
}

std::size_t rank_given_by_mpi() { return first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, 0); }

std::size_t ranks_given_by_mpi() { return first_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1); }

}  // namespace fedsinkhorn
