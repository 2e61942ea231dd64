// .npy files: those NumPy wrote, and arrays of every type, order and rank through a file and back.
#include <algorithm>
#include <numeric>

#include "io/layout.h"
#include "io/support.h"

namespace regard::io {
namespace {

constexpr DType kTypes[] = {DType::f64,  DType::f32,     DType::f16,
                            DType::bf16, DType::boolean, DType::i64};

/// Ranks 0 to 5, with axes of length 0 and 1 among them.
const std::vector<std::vector<std::int64_t>> kShapes = {
    {}, {7}, {0}, {3, 5}, {1, 4}, {2, 3, 4}, {2, 0, 4}, {3, 1, 2, 5}, {2, 3, 1, 2, 3}};

std::int64_t count(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string name_of(int number) {
  return "array" + std::to_string(number) + ".npy";
}

TEST(NpyFromNumPy, EveryTypeInBothOrders) {
  for (const DType dtype : kTypes) {
    for (const std::string order : {"c_", "fortran_"}) {
      const std::string name = order + dtype_name(dtype) + ".npy";
      SCOPED_TRACE(name);
      const Array array = read_one(data_path(name));
      EXPECT_EQ(array.dtype, dtype);
      EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 4}));
      EXPECT_EQ(array.strides, order == "c_" ? (std::vector<std::int64_t>{12, 4, 1})
                                             : (std::vector<std::int64_t>{1, 2, 6}));
      EXPECT_EQ(values(array), ramp_values(24, dtype));
    }
  }
}

TEST(NpyFromNumPy, RankZeroAndOne) {
  const Array scalar = read_one(data_path("rank0.npy"));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(values(scalar), ramp_values(1));
  EXPECT_EQ(values(read_one(data_path("rank1.npy"))), ramp_values(5));
}

TEST(NpyFromNumPy, EmptyArraysHaveData) {
  const Array empty = read_one(data_path("empty.npy"));
  EXPECT_EQ(empty.shape, (std::vector<std::int64_t>{2, 0, 3}));
  EXPECT_NE(empty.data, nullptr);
}

TEST(NpyFromNumPy, Versions2And3) {
  EXPECT_EQ(values(read_one(data_path("version2.npy"))), ramp_values(6));
  EXPECT_EQ(values(read_one(data_path("version3.npy"))), ramp_values(6));
}

TEST(NpyRead, FortranOrderOfEveryRank) {
  for (const auto& shape : kShapes) {
    std::string lengths;
    for (const auto length : shape) lengths += std::to_string(length) + ",";
    std::vector<NamedArray> arrays;
    const Status status =
        read_copy(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (" + lengths + ")}",
                           ramp_bytes(DType::f32, count(shape))),
                  arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    // Read with its axes reversed, the data is the ramp again.
    Array& array = arrays.at(0).array;
    EXPECT_EQ(array.shape, shape);
    std::ranges::reverse(array.shape);
    std::ranges::reverse(array.strides);
    EXPECT_EQ(values(array), ramp_values(static_cast<std::size_t>(count(shape))));
  }
}

TEST(NpyRead, SpellingsOfTheHeader) {
  for (const std::string dictionary : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
           "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
           "{ 'shape' : ( 2L , 3L , ) , 'descr' : '<f4' , 'fortran_order' : False }",
       }) {
    std::vector<NamedArray> arrays;
    const Status status = read_copy(npy_file(dictionary, ramp_bytes(DType::f32, 6)), arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(arrays.at(0).name, "");
    EXPECT_EQ(values(arrays.at(0).array), ramp_values(6));
  }
}

TEST(NpyRead, SpellingsOfBfloat16) {
  for (const std::string descr : {"<V2", "|V2", "bfloat16"}) {
    std::vector<NamedArray> arrays;
    const Status status =
        read_copy(npy_file("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (6,)}",
                           ramp_bytes(DType::bf16, 6)),
                  arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(arrays.at(0).array.dtype, DType::bf16);
    EXPECT_EQ(values(arrays.at(0).array), ramp_values(6));
  }
}

// Some programs write other bytes than 0 and 1; they are kept, and count as true.
TEST(NpyRead, BooleansOfAnyByte) {
  std::vector<NamedArray> arrays;
  const std::string bytes("\0\x01\x02\xff", 4);
  const std::string file =
      npy_file("{'descr': '|b1', 'fortran_order': False, 'shape': (4,)}", bytes);
  const Status status = read_copy(file, arrays);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(arrays.at(0).array.dtype, DType::boolean);
  EXPECT_EQ(values(arrays.at(0).array), (std::vector<double>{0, 1, 2, 255}));
}

TEST(NpyRead, SharesAlignedMemoryAndCopiesTheRest) {
  const std::string file = npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}",
                                    ramp_bytes(DType::f64, 6));
  for (const std::size_t shift : {0u, 1u, 4u}) {
    std::vector<std::byte> memory(file.size() + shift);
    std::ranges::transform(file, memory.begin() + static_cast<std::ptrdiff_t>(shift),
                           [](char c) { return static_cast<std::byte>(c); });
    const auto bytes = std::span(memory).subspan(shift);
    std::vector<NamedArray> arrays;
    const Status status = read_arrays(bytes, nullptr, "file", arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    const Array& array = arrays.at(0).array;
    const bool shared = array.data == bytes.data() + bytes.size() - 48;
    EXPECT_EQ(shared, shift == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data) % 8, 0u);
    EXPECT_EQ(values(array), ramp_values(6));
  }
}

TEST(NpyWrite, SameBytesAsNumPy) {
  const ScratchDirectory scratch;
  for (const DType dtype : kTypes) {
    const std::string name = dtype_name(dtype);
    const std::string written = scratch.path(name + ".npy");
    const Status status = write_npy(written, read_one(data_path("fortran_" + name + ".npy")));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read_bytes(written), read_bytes(data_path("c_" + name + ".npy"))) << name;
  }
  for (const std::string name : {"rank0.npy", "rank1.npy", "empty.npy"}) {
    ASSERT_TRUE(write_npy(scratch.path(name), read_one(data_path(name))).ok());
    EXPECT_EQ(read_bytes(scratch.path(name)), read_bytes(data_path(name))) << name;
  }
}

/// Views of one ramp with different strides: dense, axes swapped, reversed, with gaps, repeated.
std::vector<Array> views(DType dtype, const std::vector<std::int64_t>& shape) {
  Layout dense;
  EXPECT_TRUE(lay_out(dtype, shape, Order::c, dense));
  auto memory = std::make_shared<std::string>(ramp_bytes(dtype, 2 * count(shape) + 1));
  const auto* const start = reinterpret_cast<const std::byte*>(memory->data());
  std::vector<Array> arrays(5, Array{dtype, shape, dense.strides, start, memory});
  std::ranges::reverse(arrays[1].shape);
  std::ranges::reverse(arrays[1].strides);
  for (auto& stride : arrays[2].strides) stride = -stride;
  arrays[2].data += std::max<std::int64_t>(count(shape) - 1, 0) * element_bytes(dtype);
  for (auto& stride : arrays[3].strides) stride *= 2;
  for (auto& stride : arrays[4].strides) stride = 0;
  return arrays;
}

TEST(NpyWrite, EveryTypeShapeAndStrideComesBack) {
  const ScratchDirectory scratch;
  int number = 0;
  for (const DType dtype : kTypes) {
    for (const auto& shape : kShapes) {
      for (const Array& array : views(dtype, shape)) {
        const std::string path = scratch.path(name_of(number++));
        const Status status = write_npy(path, array);
        ASSERT_TRUE(status.ok()) << status.message();
        const Array back = read_one(path);
        EXPECT_EQ(back.dtype, array.dtype);
        EXPECT_EQ(back.shape, array.shape);
        EXPECT_EQ(values(back), values(array));
      }
    }
  }
  EXPECT_EQ(number, 6 * 9 * 5);
}

TEST(NpyWrite, ArraysLargerThanAChunk) {
  const ScratchDirectory scratch;
  constexpr std::int64_t kRows = 331;
  constexpr std::int64_t kColumns = 97;  // rows end inside chunks of 64 KB
  auto memory = std::make_shared<std::vector<double>>(kRows * kColumns);
  std::iota(memory->begin(), memory->end(), 0.0);
  const Array transposed{DType::f64,
                         {kColumns, kRows},
                         {1, kColumns},
                         reinterpret_cast<const std::byte*>(memory->data()),
                         memory};
  ASSERT_TRUE(write_npy(scratch.path("large.npy"), transposed).ok());
  EXPECT_EQ(values(read_one(scratch.path("large.npy"))), values(transposed));
}

}  // namespace
}  // namespace regard::io
