// From files to the library's views and back: q, k and v of rank 4 (B,H,S,D), 3 (H,S,D) or
// 2 (S,D), or with S and H exchanged, and results of the same rank and order.
#pragma once

#include <string>
#include <vector>

#include "app.h"
#include "io/arrays.h"
#include "regard/tensor.h"

namespace regard::cli {

enum class Layout { bhsd, bshd };

struct InputFlags {
  std::vector<std::string> files;  ///< three, or one that holds q, k and v
  std::string names;               ///< "q=...,k=...,v=..."
  Layout layout = Layout::bhsd;
};
void add_input_flags(CLI::App& app, InputFlags& flags);

struct Inputs {
  std::vector<io::Array> owners;  ///< keep the memory of the views
  ConstTensor q, k, v;
  std::size_t rank = 0;
  Layout layout = Layout::bhsd;
};
Inputs load_inputs(const InputFlags& flags);

/// Which axes of (B,H,S,D) the axes of a file are, in its order.
using Axes = std::vector<std::size_t>;
Axes tensor_axes(std::size_t rank, Layout layout);
/// The same for weights (B,H,R,Skv), masks and biases and, without the last axis, the LSE: never
/// exchanged.
Axes weights_axes(std::size_t rank);
Axes lse_axes(std::size_t rank);
/// Key mass (B,H,Skv).
Axes key_axes(std::size_t rank);

/// The one array of `path`, or the one called `name` where it holds several.
io::Array load_array(const std::string& path, const std::string& name);
/// The array of the option called `option`, mask say, from "FILE" or "NAME:FILE". Without NAME it
/// is the only array of the file, or the one with the name of the option.
io::Array load_option_array(const std::string& option, const std::string& text);
/// `what` names the array in sentences.
ConstTensor view_of(const io::Array& array, const std::string& what, const Axes& axes);

/// Memory for a result, dense in the order of its file.
struct Result {
  io::Array array;
  Tensor tensor;
};
Result make_result(const std::string& what, const Shape& shape, DType dtype, const Axes& axes);

}  // namespace regard::cli
