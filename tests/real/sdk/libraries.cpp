// Uses a header library on the device, and two libraries that are loaded.
#include <rocprim/rocprim.hpp>
#include <rocrand/rocrand.h>
#include <rocsparse/rocsparse.h>

#include <cstdio>

int main() {
  int input[1] = {}, output[1] = {};
  size_t bytes = 0;
  hipError_t scanned = rocprim::inclusive_scan(nullptr, bytes, input, output, 1);
  int version = 0;
  rocrand_get_version(&version);
  rocsparse_handle handle = nullptr;
  rocsparse_status made = rocsparse_create_handle(&handle);
  std::printf("rocprim %d\nrocrand %d\nrocsparse %d\n", scanned, version, made);
  return 0;
}
