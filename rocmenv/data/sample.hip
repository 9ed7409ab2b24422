// Compiled by `rocmenv verify --compile`. Doubles numbers on the first GPU.
// Exit status: 0 right, 1 wrong, 2 the GPU could not be used. Output: the GPU's target, the error.

#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void twice(int *numbers) { numbers[threadIdx.x] *= 2; }

static int give_up(const char *call, hipError_t error) {
  std::printf("error %s: %s\n", call, hipGetErrorString(error));
  return 2;
}

int main() {
  const int count = 64;
  int numbers[count], *device = nullptr;
  for (int i = 0; i < count; ++i) numbers[i] = i;

  int devices = 0;
  hipError_t error = hipGetDeviceCount(&devices);
  if (error != hipSuccess) return give_up("hipGetDeviceCount", error);
  hipDeviceProp_t properties;
  error = hipGetDeviceProperties(&properties, 0);
  if (error != hipSuccess) return give_up("hipGetDeviceProperties", error);
  std::printf("target %s\n", properties.gcnArchName);

  error = hipMalloc(reinterpret_cast<void **>(&device), sizeof numbers);
  if (error != hipSuccess) return give_up("hipMalloc", error);
  error = hipMemcpy(device, numbers, sizeof numbers, hipMemcpyHostToDevice);
  if (error != hipSuccess) return give_up("hipMemcpy", error);
  hipLaunchKernelGGL(twice, dim3(1), dim3(count), 0, 0, device);
  error = hipGetLastError();
  if (error != hipSuccess) return give_up("launch", error);
  error = hipMemcpy(numbers, device, sizeof numbers, hipMemcpyDeviceToHost);
  if (error != hipSuccess) return give_up("hipMemcpy", error);
  for (int i = 0; i < count; ++i)
    if (numbers[i] != 2 * i) return 1;
  return 0;
}
