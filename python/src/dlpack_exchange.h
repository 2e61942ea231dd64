// The part of DLPack 1.3 (dmlc/dlpack, dlpack.h) by which a library hands over the view of a tensor
// without a Python call: a table of functions in the capsule `__dlpack_c_exchange_api__` of the
// tensor's type. PyTorch has it from 2.10 on. Layout is that of the standard; nothing here is ours.
#pragma once

#include <cstdint>

namespace regard::python::dlpack {

inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";
inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::int32_t kCpu = 1, kPinned = 3;  // devices; kDLCUDAHost is the CPU's memory

inline constexpr int kFloat = 2, kBfloat = 4, kBool = 6;  // codes of element types

struct Tensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements
  std::uint64_t byte_offset;
};

struct ExchangeHeader {
  std::uint32_t major;
  std::uint32_t minor;
  ExchangeHeader* previous;
};

struct ExchangeTable {
  ExchangeHeader header;
  void (*allocate)();
  void (*from_object)();
  void (*to_object)();
  /// Fills `view` with what lies in the memory of `object`, which stays its owner; 0, or -1 with a
  /// Python error set. May be null.
  int (*view_of)(void* object, Tensor* view);
  void (*stream)();
};

}  // namespace regard::python::dlpack
