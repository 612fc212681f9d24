// Time of rounds for many targets, and of the products alone.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "backend/cuda/cublas.hpp"
#include "backend/cuda/many_targets.hpp"
#include "backend/cuda/own_product.hpp"
#include "device/runtime.hpp"

namespace {

using namespace fedsinkhorn;
using namespace fedsinkhorn::cuda;

/// A number in (0, 1) from a counter.
__device__ double random_at(std::size_t i) {
  unsigned long long x = i * 0x9E3779B97F4A7C15ULL + 0x1234567ULL;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 29)) * 0x94D049BB133111EBULL;
  return (static_cast<double>((x ^ (x >> 32)) >> 12) + 0.5) * 0x1p-52;
}

__global__ void fill(double* to, std::size_t size, double low, double high) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = low + (high - low) * random_at(i);
  }
}

template <class T>
__global__ void fill_kernel(T* to, std::size_t rows, std::size_t columns, std::size_t stride) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * stride;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const double entry = i % stride < columns ? 3 * exp(-3 * random_at(i)) : 0.0;
    to[i] = T(static_cast<float>(entry));
  }
}

__global__ void read_all(const double2* from, std::size_t size, double* to) {
  double sum = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += std::size_t{gridDim.x} * blockDim.x) {
    sum += from[i].x + from[i].y;
  }
  if (sum == 0.12345) *to = sum;
}

DeviceBuffer<double> filled(std::size_t size, double low, double high) {
  DeviceBuffer<double> buffer(size);
  fill<<<1024, 256>>>(buffer.data(), size, low, high);
  check(cudaGetLastError(), "filling");
  return buffer;
}

/// Median milliseconds.
double time_of(const std::function<void()>& work, cudaStream_t stream, int repeats = 21) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "making an event");
  check(cudaEventCreate(&end), "making an event");
  for (int i = 0; i < 2; ++i) work();
  std::vector<float> times(static_cast<std::size_t>(repeats));
  for (float& time : times) {
    check(cudaEventRecord(begin, stream), "recording");
    work();
    check(cudaEventRecord(end, stream), "recording");
    check(cudaEventSynchronize(end), "waiting");
    check(cudaEventElapsedTime(&time, begin, end), "timing");
  }
  check(cudaEventDestroy(begin), "ending an event");
  check(cudaEventDestroy(end), "ending an event");
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return static_cast<double>(times[static_cast<std::size_t>(repeats / 2)]);
}

const char* name_of(Storage storage) {
  switch (storage) {
    case Storage::float64: return "float64";
    case Storage::float32: return "float32";
    case Storage::mixed: return "mixed";
    case Storage::bfloat16: return "bfloat16";
  }
  return "?";
}

struct Bench {
  std::size_t n, m;
  Stream stream;
  DeviceBuffer<std::byte> memory;

  Bench(std::size_t rows, std::size_t columns) : n(rows), m(columns), memory((rows * (columns + 128)) * 8) {}

  StoredKernel kernel(Storage storage) {
    const std::size_t per_line = 128 / bytes_of(storage);
    const StoredKernel result{storage, memory.data(), n, m, (m + per_line - 1) / per_line * per_line};
    if (storage == Storage::float64) {
      fill_kernel<<<1024, 256>>>(reinterpret_cast<double*>(memory.data()), n, m, result.stride);
    } else if (storage == Storage::bfloat16) {
      fill_kernel<<<1024, 256>>>(reinterpret_cast<__nv_bfloat16*>(memory.data()), n, m, result.stride);
    } else {
      fill_kernel<<<1024, 256>>>(reinterpret_cast<float*>(memory.data()), n, m, result.stride);
    }
    check(cudaDeviceSynchronize(), "filling");
    return result;
  }

  double floor_of(const StoredKernel& kernel) {
    DeviceBuffer<double> to(1);
    const std::size_t size = n * kernel.stride * bytes_of(kernel.storage) / 16;
    return time_of(
        [&] {
          read_all<<<132 * 8, 256, 0, stream.get()>>>(reinterpret_cast<const double2*>(memory.data()), size, to.data());
        },
        stream.get());
  }

  /// Each of the four ways to give a product to cuBLAS.
  void orientations(std::size_t targets) {
    const StoredKernel k = kernel(Storage::float64);
    const auto cublas = make_cublas();
    if (!cublas) return;
    const std::size_t largest = std::max(n, m);
    const auto x = filled(targets * largest, 0.5, 1.5);
    auto y = filled(targets * largest, 0.5, 1.5);
    const auto* data = static_cast<const double*>(k.data);
    const double flops = 2.0 * static_cast<double>(n * m * targets);
    const auto show = [&](const char* what, const std::function<void()>& work) {
      const double time = time_of(work, stream.get());
      std::printf("cublas %-34s %8.4f ms  %5.1f TFLOP/s\n", what, time, flops / time * 1e-9);
    };
    show("K x (T,N), target after target", [&] {
      cublas->multiply(n, targets, m, {data, k.stride, true}, {x.data(), m, false}, y.data(), n, stream.get());
    });
    show("K'x (N,N), target after target", [&] {
      cublas->multiply(m, targets, n, {data, k.stride, false}, {x.data(), n, false}, y.data(), m, stream.get());
    });
    show("K x (N,N), targets interleaved", [&] {
      cublas->multiply(targets, n, m, {x.data(), targets, false}, {data, k.stride, false}, y.data(), targets,
                       stream.get());
    });
    show("K'x (N,T), targets interleaved", [&] {
      cublas->multiply(targets, m, n, {x.data(), targets, false}, {data, k.stride, true}, y.data(), targets,
                       stream.get());
    });
  }

  /// Rounds and their products alone.
  void rounds(Storage storage, std::size_t targets, int count, Multiplier multiplier) {
    const auto products = make_many_targets(storage, multiplier);
    if (!products) return;
    const StoredKernel k = kernel(storage);
    const auto a = filled(n, 0.5 / static_cast<double>(n), 1.5 / static_cast<double>(n));
    const auto b = filled(targets * m, 0.5 / static_cast<double>(m), 1.5 / static_cast<double>(m));
    auto u = filled(targets * n, 0.5, 1.5);
    auto v = filled(targets * m, 0.5, 1.5);
    auto q = filled(targets * n, 0, 1);
    auto r = filled(targets * m, 0, 1);
    DeviceBuffer<RoundStatus> status(static_cast<std::size_t>(count) * targets);
    DeviceBuffer<int> made(1);
    PlainRounds job;
    job.targets = targets;
    job.a = a.data();
    job.b = b.data();
    job.x = job.v = v.data();
    job.u = u.data();
    job.q = q.data();
    job.r = r.data();
    job.count = count;
    job.status = status.data();
    job.made = made.data();
    check(cudaDeviceSynchronize(), "filling");
    const double all = time_of([&] { products->rounds(k, job, stream.get()); }, stream.get());
    const double apply = time_of([&] { products->apply(k, targets, v.data(), q.data(), stream.get()); }, stream.get());
    const double transposed =
        time_of([&] { products->apply_transposed(k, targets, u.data(), r.data(), stream.get()); }, stream.get());
    const double bare = time_of(
        [&] {
          for (int i = 0; i < count; ++i) {
            products->apply(k, targets, v.data(), q.data(), stream.get());
            products->apply_transposed(k, targets, u.data(), r.data(), stream.get());
          }
        },
        stream.get());
    const double flops = 2.0 * static_cast<double>(n * m * targets);
    std::printf(
        "%-8s %-6s targets %4zu: %2d rounds %8.3f ms, products alone %8.3f ms; K x %8.4f ms (%5.1f TFLOP/s), "
        "K'x %8.4f ms (%5.1f TFLOP/s); read of K %.4f ms, flops at 66.9 TFLOP/s %.4f ms\n",
        name_of(storage), products->library(), targets, count, all, bare, apply, flops / apply * 1e-9, transposed,
        flops / transposed * 1e-9, floor_of(k), flops / 66.9e9);
  }
};

}  // namespace

/// With any argument: also other numbers of targets and a small kernel.
int main(int count, char**) {
  Bench bench(5000, 5000);
  bench.orientations(500);
  for (const Multiplier multiplier : {Multiplier::own, Multiplier::cublas, Multiplier::own, Multiplier::cublas}) {
    bench.rounds(Storage::float64, 500, 15, multiplier);  // twice: the spread
  }
  for (const Storage storage : {Storage::float32, Storage::mixed, Storage::bfloat16}) {
    bench.rounds(storage, 500, 15, Multiplier::own);
  }
  if (count == 1) return 0;
  for (const std::size_t targets : {2, 17, 32, 64, 128, 256, 1000}) {
    bench.rounds(Storage::float64, targets, 3, Multiplier::cublas);
    for (const Storage storage : {Storage::float64, Storage::mixed, Storage::bfloat16}) {
      bench.rounds(storage, targets, 3, Multiplier::own);
    }
  }
  Bench small(1000, 1000);
  for (const std::size_t targets : {17, 500}) {
    for (const Multiplier multiplier : {Multiplier::cublas, Multiplier::own}) {
      small.rounds(Storage::float64, targets, 3, multiplier);
    }
  }
  return 0;
}
