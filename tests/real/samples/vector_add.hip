// Adds two vectors on a GPU, and says which HIP it was compiled with and which one it runs on.
//
// Exit status: 0 the sum is right, 1 it is wrong, 2 no GPU could be used (the error is named).

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void vector_add(const float *a, const float *b, float *sum, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) sum[index] = a[index] + b[index];
}

static void require(hipError_t error, const char *what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s %d\n", what, hipGetErrorName(error), static_cast<int>(error));
  std::exit(2);
}

int main() {
  std::printf("compiled %d.%d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, HIP_VERSION_PATCH);
  int runtime = 0, driver = 0;
  hipError_t asked = hipRuntimeGetVersion(&runtime);
  std::printf("runtime %d %s\n", runtime, hipGetErrorName(asked));
  asked = hipDriverGetVersion(&driver);
  std::printf("driver %d %s\n", driver, hipGetErrorName(asked));

  int devices = 0;
  require(hipGetDeviceCount(&devices), "hipGetDeviceCount");

  const int count = 1 << 16;
  const size_t size = count * sizeof(float);
  std::vector<float> a(count, 1.0f), b(count, 2.0f), sum(count);
  float *device_a, *device_b, *device_sum;
  require(hipMalloc(&device_a, size), "hipMalloc");
  require(hipMalloc(&device_b, size), "hipMalloc");
  require(hipMalloc(&device_sum, size), "hipMalloc");
  require(hipMemcpy(device_a, a.data(), size, hipMemcpyHostToDevice), "hipMemcpy");
  require(hipMemcpy(device_b, b.data(), size, hipMemcpyHostToDevice), "hipMemcpy");
  vector_add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
  require(hipGetLastError(), "launch");
  require(hipMemcpy(sum.data(), device_sum, size, hipMemcpyDeviceToHost), "hipMemcpy");
  for (float value : sum)
    if (value != 3.0f) return 1;
  std::printf("added\n");
  return 0;
}
