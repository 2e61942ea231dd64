#include "support/cases.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace regard::test {
namespace {

using Json = nlohmann::json;

double number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::runtime_error("not a number: " + text);
}

/// A nested list of rank 4, or of rank 3 to which a last axis of size 1 is added.
TestTensor<double> tensor(const Json& value, int rank = 4) {
  Shape shape{1, 1, 1, 1};
  const Json* level = &value;
  for (int axis = 0; axis < rank; ++axis) {
    shape[std::size_t(axis)] = std::int64_t(level->size());
    if (!level->empty()) level = &level->at(0);
  }
  TestTensor<double> result(shape);
  for_each_index(shape, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    const Json& row = value.at(std::size_t(b)).at(std::size_t(h)).at(std::size_t(s));
    result.at(b, h, s, d) = number(rank == 4 ? row.at(std::size_t(d)) : row);
  });
  return result;
}

Causal causal(const std::string& name) {
  if (name == "none") return Causal::none;
  if (name == "top_left") return Causal::top_left;
  if (name == "bottom_right") return Causal::bottom_right;
  throw std::runtime_error("not a causal alignment: " + name);
}

/// Shape of a nested list of rank 1 to 4, aligned to the last axes, and its numbers in order.
Shape flatten(const Json& value, std::vector<double>& numbers) {
  std::vector<std::int64_t> sizes;
  for (const Json* level = &value; level->is_array(); level = &level->at(0))
    sizes.push_back(std::int64_t(level->size()));
  Shape shape{1, 1, 1, 1};
  std::copy(sizes.begin(), sizes.end(), shape.end() - std::ptrdiff_t(sizes.size()));
  const auto append = [&](const auto& self, const Json& level) -> void {
    if (!level.is_array()) {
      numbers.push_back(level.is_boolean() ? double(level.get<bool>()) : number(level));
      return;
    }
    for (const Json& inner : level) self(self, inner);
  };
  append(append, value);
  return shape;
}

TestTensor<double> broadcast_tensor(const Json& value) {
  std::vector<double> numbers;
  TestTensor<double> result(flatten(value, numbers));
  std::copy(numbers.begin(), numbers.end(), result.data());
  return result;
}

/// One number a query head.
TestTensor<double> per_head(const Json& value) {
  std::vector<double> numbers;
  flatten(value, numbers);
  TestTensor<double> result({1, std::int64_t(numbers.size()), 1, 1});
  std::copy(numbers.begin(), numbers.end(), result.data());
  return result;
}

void read_mask(const Json& value, Case& target) {
  std::vector<double> numbers;
  target.mask_shape = flatten(value, numbers);
  for (const double number : numbers) target.mask.push_back(number != 0);
}

void read_option(const std::string& name, const Json& value, Case& target) {
  const auto integers = [&value] { return value.get<std::vector<std::int64_t>>(); };
  if (name == "scale") {
    target.scale = number(value);
  } else if (name == "softcap") {
    target.softcap = number(value);
  } else if (name == "causal") {
    target.causal = causal(value.get<std::string>());
  } else if (name == "window") {
    target.window = {value.at(0).get<std::int64_t>(), value.at(1).get<std::int64_t>()};
  } else if (name == "q_offset") {
    target.q_offset = integers();
  } else if (name == "q_len") {
    target.q_len = integers();
  } else if (name == "kv_len") {
    target.kv_len = integers();
  } else if (name == "mask") {
    read_mask(value, target);
  } else if (name == "bias") {
    target.bias = broadcast_tensor(value);
  } else if (name == "alibi_slopes") {
    target.alibi_slopes = per_head(value);
  } else if (name == "sinks") {
    target.sinks = per_head(value);
  } else {
    throw std::runtime_error("not an option: " + name);
  }
}

Case read_case(const Json& json) {
  Case result;
  result.name = json.at("name").get<std::string>();
  result.why = json.at("why").get<std::string>();
  result.q = tensor(json.at("q"));
  result.k = tensor(json.at("k"));
  result.v = tensor(json.at("v"));
  for (const auto& [name, value] : json.at("options").items()) read_option(name, value, result);
  const Json& expect = json.at("expect");
  if (expect.contains("out")) result.out = tensor(expect.at("out"));
  if (expect.contains("lse")) result.lse = tensor(expect.at("lse"), 3);
  if (expect.contains("weights")) result.weights = tensor(expect.at("weights"));
  return result;
}

}  // namespace

std::vector<Case> load_cases() {
  std::ifstream file(REGARD_TEST_CASES);
  if (!file) throw std::runtime_error("cannot open " REGARD_TEST_CASES);
  const Json json = Json::parse(file);
  std::vector<Case> cases;
  for (const Json& entry : json.at("cases")) cases.push_back(read_case(entry));
  return cases;
}

}  // namespace regard::test
