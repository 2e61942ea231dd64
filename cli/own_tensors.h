// Memory of tensors that live as long as their owner.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "regard/tensor.h"

namespace regard::cli {

class OwnTensors {
 public:
  /// Normal numbers, the same for a shape, type and state of the engine.
  ConstTensor normal(const Shape& shape, DType dtype, std::mt19937_64& engine);
  /// Its numbers are not set.
  Tensor unset(const Shape& shape, DType dtype);

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  static constexpr std::align_val_t kAlignment{64};  // a cache line, as other libraries allocate

  std::vector<std::unique_ptr<std::byte, Free>> memory_;
};

}  // namespace regard::cli
