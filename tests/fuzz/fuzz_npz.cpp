#include "fuzz/fuzz_format.h"
#include "io/npz.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  regard::io::fuzz_format(&regard::io::read_npz, {data, size});
  return 0;
}
