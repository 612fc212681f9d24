// For functions that host code and device kernels share.
#pragma once

#ifdef __CUDACC__
#define FEDSINKHORN_HOST_DEVICE __host__ __device__
#else
#define FEDSINKHORN_HOST_DEVICE
#endif
