#include "fuzz/fuzz_format.h"
#include "io/npy.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  regard::io::fuzz_format(&regard::io::read_npy, {data, size});
  return 0;
}
