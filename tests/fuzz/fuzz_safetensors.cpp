#include "fuzz/fuzz_format.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  regard::io::fuzz_format(&regard::io::read_safetensors, {data, size});
  return 0;
}
