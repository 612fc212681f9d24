// Times of products and rounds with a stored kernel, each beside one plain read of the same memory.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "../../tests/cuda/stored_matrix.cuh"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda::testing {
namespace {

__global__ void read_kernel(const uint4* data, std::size_t size, unsigned* out) {
  unsigned bits = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (; i + 3 * step < size; i += 4 * step) {
    const uint4 x0 = data[i], x1 = data[i + step], x2 = data[i + 2 * step], x3 = data[i + 3 * step];
    bits ^=
        x0.x ^ x0.y ^ x0.z ^ x0.w ^ x1.x ^ x1.y ^ x1.z ^ x1.w ^ x2.x ^ x2.y ^ x2.z ^ x2.w ^ x3.x ^ x3.y ^ x3.z ^ x3.w;
  }
  for (; i < size; i += step) bits ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
  if (bits == 0x12345678U) *out = bits;
}

class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Median microseconds of one of `times` runs in a row.
  template <class Work>
  double median(int times, Work work) {
    constexpr int repeats = 21;
    std::vector<float> all;
    work();
    for (int repeat = 0; repeat < repeats; ++repeat) {
      check(cudaEventRecord(begin_), "timing");
      for (int i = 0; i < times; ++i) work();
      check(cudaEventRecord(end_), "timing");
      check(cudaEventSynchronize(end_), "timing");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
      all.push_back(1000 * milliseconds / static_cast<float>(times));
    }
    std::sort(all.begin(), all.end());
    return static_cast<double>(all[all.size() / 2]);
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

void measure(Storage storage, std::size_t n) {
  const RandomKernel kernel(storage, n, n, 7);
  std::vector<double> mass(n);
  for (std::size_t i = 0; i < n; ++i) mass[i] = (0.5 + random_number(8, i)) / static_cast<double>(n);
  const DeviceBuffer<double> a = on_device(mass), b = on_device(mass), v = on_device(mass), u = on_device(mass),
                             q = on_device(mass), r = on_device(mass);
  constexpr int count = 32;
  const DeviceBuffer<RoundStatus> status(count);
  const DeviceBuffer<int> made(1);
  const DeviceBuffer<unsigned> out(1);
  const auto pass = make_dense_pass(storage, n, n);
  Stopwatch watch;
  const int few = n > 20000 ? 2 : 10;
  const double read = watch.median(few, [&] {
    read_kernel<<<132 * 8, 512>>>(static_cast<const uint4*>(kernel.get().data), kernel.size_in_bytes() / 16,
                                  out.data());
  });
  PlainRounds rounds;
  rounds.a = a.data();
  rounds.b = b.data();
  rounds.x = v.data();
  rounds.u = u.data();
  rounds.v = v.data();
  rounds.q = q.data();
  rounds.r = r.data();
  rounds.tolerance = -1;
  rounds.safe_scaling = 1e300;
  rounds.status = status.data();
  rounds.made = made.data();
  const auto a_round = [&](int rounds_a_launch) {
    rounds.count = rounds_a_launch;
    return watch.median(1, [&] { pass->rounds(kernel.get(), rounds, nullptr); }) / rounds_a_launch;
  };
  const double many = a_round(n > 20000 ? 8 : count), eight = a_round(8);
  const double fused =
      watch.median(few, [&] { pass->fused(kernel.get(), a.data(), v.data(), q.data(), u.data(), r.data(), nullptr); });
  const double apply = watch.median(few, [&] { pass->apply(kernel.get(), v.data(), q.data(), nullptr); });
  const double transposed =
      watch.median(few, [&] { pass->apply_transposed(kernel.get(), u.data(), r.data(), nullptr); });
  std::printf(
      "%-8s %6zu  read %8.1f us | round %8.1f %.3f | of 8 %8.1f %.3f | fused %8.1f %.3f | apply %8.1f %.3f | "
      "transposed %8.1f %.3f\n",
      name_of(storage), n, read, many, many / read, eight, eight / read, fused, fused / read, apply, apply / read,
      transposed, transposed / read);
  std::fflush(stdout);
}

}  // namespace
}  // namespace fedsinkhorn::cuda::testing

int main() {
  using fedsinkhorn::cuda::Storage;
  using fedsinkhorn::cuda::testing::measure;
  try {
    for (const std::size_t n : {1000, 5000, 10000, 25000, 50000}) {
      for (const Storage storage : {Storage::float64, Storage::float32, Storage::mixed, Storage::bfloat16}) {
        measure(storage, n);
      }
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
