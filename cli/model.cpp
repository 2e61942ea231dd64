#include "model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "engine.h"
#include "shipped.h"
#include "text.h"

namespace regard::cli {
namespace {

// The recorded weights were computed in f32 by another library with another exponential.
constexpr double kRecordedAgrees = 1e-5;

struct Layer {
  const char* name;
  Shape shape;  ///< (1, heads, tokens, head size)
  std::vector<double> recorded_weights;
  EngineResult result;

  /// What `token` reads in `head`: a weight for every token.
  std::span<const double> row(std::int64_t head, std::int64_t token) const {
    const auto tokens = std::size_t(shape[2]);
    const auto first = std::size_t(head * shape[2] + token) * tokens;
    return std::span(result.weights).subspan(first, tokens);
  }
};

Layer compute(const char* name, Shipped which) {
  const std::vector<io::NamedArray> arrays = shipped_arrays(which);
  const auto& q = array_named(arrays, "q");
  Layer layer{name, {q.shape.at(0), q.shape.at(1), q.shape.at(2), q.shape.at(3)}, {}, {}};
  const auto values = [&](const char* array) { return values_of(array_named(arrays, array)); };
  layer.recorded_weights = values("weights");
  layer.result = run_engine(
      DType::f32, {layer.shape, layer.shape, layer.shape, values("q"), values("k"), values("v")},
      {});
  return layer;
}

void claim(const Layer& layer, Report& report) {
  const CheckReport& check = layer.result.check;
  const double recorded = largest_difference(layer.result.weights, layer.recorded_weights);
  report.claim(check.passed && recorded <= kRecordedAgrees,
               fmt::format("{}: all {} rows agree with the oracle", layer.name, check.rows_checked),
               fmt::format("worst error {:.2f} of its bound; largest difference from the recorded "
                           "weights {:.1g}",
                           check.worst_units, recorded));
}

/// "lighthouse 0.14, drifting 0.13, lamp 0.08"
std::string most_read(const Layer& layer, std::int64_t head, std::int64_t token,
                      const std::vector<std::string>& words) {
  constexpr std::size_t kShown = 3;
  const std::span<const double> weights = layer.row(head, token);
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  order.resize(std::min(kShown, order.size()));
  std::vector<std::string> read;
  for (const std::size_t n : order) read.push_back(fmt::format("{} {:.2f}", words[n], weights[n]));
  return fmt::format("{}", fmt::join(read, ", "));
}

/// "41 of 42": rows after the first that read the token before theirs more than any other.
std::string read_one_back(const Layer& layer, std::int64_t head) {
  std::int64_t count = 0;
  for (std::int64_t token = 1; token < layer.shape[2]; ++token) {
    const std::span<const double> weights = layer.row(head, token);
    if (std::max_element(weights.begin(), weights.end()) - weights.begin() == token - 1) ++count;
  }
  return fmt::format("{} of {}", count, layer.shape[2] - 1);
}

/// Heads and tokens worth a glance.
struct Glance {
  std::size_t layer;
  std::int64_t head, token;
};
constexpr Glance kGlances[] = {{0, 1, 2}, {0, 10, 40}, {1, 9, 25}, {0, 2, 3}};
constexpr Glance kOneBack = kGlances[3];

}  // namespace

void show_model(Report& report) {
  const std::array layers = {compute("layer 0", Shipped::minilm_layer0),
                             compute("layer 4", Shipped::minilm_layer4)};
  const std::vector<std::string> words = shipped_tokens();
  const Shape& shape = layers[0].shape;
  fmt::print(
      "attention of a real model: all-MiniLM-L6-v2, {} heads, {} tokens, head size {}, f32\n"
      "\"{}\"\n\n",
      shape[1], shape[2], shape[3], wrapped(fmt::format("{}", fmt::join(words, " ")), 90, 1));
  for (const Layer& layer : layers) claim(layer, report);
  fmt::print("\n  what a word reads most\n");
  for (const Glance& glance : kGlances) {
    const Layer& layer = layers[glance.layer];
    fmt::print("  {:<11} {}, head {:<3} {}\n", words.at(std::size_t(glance.token)), layer.name,
               glance.head, most_read(layer, glance.head, glance.token, words));
  }
  fmt::print("  {}, head {} looks one word back: {} words read the one before them most\n",
             layers[kOneBack.layer].name, kOneBack.head,
             read_one_back(layers[kOneBack.layer], kOneBack.head));
}

}  // namespace regard::cli
