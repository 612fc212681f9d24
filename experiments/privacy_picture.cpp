#include "privacy.hpp"
namespace fedsinkhorn::experiments {
std::string privacy_picture(const std::vector<SweepCell>&, const std::vector<ComparedRun>&) { return "stub"; }
}
