// Shared by the lab's tests: the stored inputs and outputs of the two teaching programs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/arrays.h"
#include "regard/lab.h"

namespace regard::test {

/// Arrays of one file of data/, f64 and dense.
class Stored {
 public:
  explicit Stored(const std::string& file) {
    const Status status = io::read_arrays(std::string(REGARD_TEST_DATA "/") + file, arrays_);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  const io::Array& array(const std::string& name) const {
    for (const auto& named : arrays_)
      if (named.name == name) return named.array;
    ADD_FAILURE() << "no array " << name;
    return none_;
  }

  std::vector<double> values(const std::string& name) const {
    const io::Array& found = array(name);
    EXPECT_EQ(found.dtype, DType::f64) << name;
    std::int64_t count = 1;
    for (auto axis = found.shape.size(); axis-- > 0; count *= found.shape[axis])
      EXPECT_TRUE(found.shape[axis] == 1 || found.strides[axis] == count) << name << " not dense";
    const auto* first = reinterpret_cast<const double*>(found.data);
    return std::vector<double>(first, first + (first == nullptr ? 0 : count));
  }

  lab::Matrix matrix(const std::string& name) const {
    const auto& shape = array(name).shape;
    EXPECT_EQ(shape.size(), 2U) << name;
    if (shape.size() != 2) return {};
    return {shape[0], shape[1], values(name)};
  }

 private:
  std::vector<io::NamedArray> arrays_;
  io::Array none_;
};

inline void expect_near(const std::vector<double>& expected, const std::vector<double>& actual,
                        double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t n = 0; n < expected.size(); ++n)
    ASSERT_NEAR(expected[n], actual[n], tolerance) << "at " << n;
}

}  // namespace regard::test
