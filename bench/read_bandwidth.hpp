// What one process among several can read of memory: the floor of a client, asked for by scaling.py.
#pragma once

#include <string>

namespace fedsinkhorn::bench {

/// What `fedsinkhorn-bench --reading BYTES,START,SECONDS` does: one thread fills so much memory of its own, waits for
/// START (seconds since 1970), reads it again and again for SECONDS, and prints bytes a second. Processes that are
/// given the same START read at the same time. Throws std::runtime_error when START has passed before it is ready.
void run_reading_child(const std::string& arguments);

}  // namespace fedsinkhorn::bench
