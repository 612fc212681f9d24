// Replaces mpi_transport.cpp in builds without MPI.
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

std::unique_ptr<Communicator> make_mpi_communicator(Seconds /*timeout*/, const StopRequest& /*stop*/) {
  throw InputError("`transport`", "'mpi' was asked for but this is built without MPI",
                   "install an MPI such as Open MPI and build again");
}

}  // namespace fedsinkhorn
