// What policy private asks of the options.
#pragma once

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// With policy private: that noise or a budget are given, that nothing leaks past them, and what the mechanism asks
/// for. With others: that no option of it is given. Throws InputError.
void check_private(const Options& options, std::size_t clients);

}  // namespace fedsinkhorn
