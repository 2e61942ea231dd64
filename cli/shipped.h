// The files of data/, carried inside the program.
#pragma once

#include <string>
#include <vector>

#include "io/arrays.h"

namespace regard::cli {

enum class Shipped { lab, blocked, minilm_layer0, minilm_layer4 };

std::vector<io::NamedArray> shipped_arrays(Shipped which);
/// Words of the text whose attention minilm_layer0 and minilm_layer4 are.
std::vector<std::string> shipped_tokens();

/// The array called `name`, which the file is known to hold.
const io::Array& array_named(const std::vector<io::NamedArray>& arrays, const std::string& name);
/// The numbers of an f32 or f64 array in C order.
std::vector<double> values_of(const io::Array& array);

}  // namespace regard::cli
