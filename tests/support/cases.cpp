#include "support/cases.h"

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

void read_option(const std::string& name, const Json& value, Case& target) {
  if (name == "scale") {
    target.scale = number(value);
  } else if (name == "causal") {
    target.causal = causal(value.get<std::string>());
  } else if (name == "q_offset") {
    target.q_offset = value.get<std::vector<std::int64_t>>();
  } else {
    target.unserved.push_back(name);
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
