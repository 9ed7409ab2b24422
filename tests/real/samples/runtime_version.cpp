// Says which HIP it was compiled with and which one it runs on; needs no device compiler.

#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include <cstdio>

int main() {
  std::printf("compiled %d.%d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, HIP_VERSION_PATCH);
  int runtime = 0;
  hipError_t error = hipRuntimeGetVersion(&runtime);
  std::printf("runtime %d %s\n", runtime, hipGetErrorName(error));
  int devices = 0;
  error = hipGetDeviceCount(&devices);
  std::printf("devices %d %s\n", devices, hipGetErrorName(error));
  return error == hipSuccess ? 0 : 2;
}
