// The verdict of `regard check` for programs.
#pragma once

#include <cstdint>
#include <string>

#include "arrays.h"
#include "regard/check.h"

namespace regard::cli {

/// What was judged.
struct Judged {
  const Inputs& inputs;
  const Options& options;
  DType result;
  std::int64_t rows_in_all;
};

/// One JSON object on several lines: the report, the coefficients of the bound, and for each of the
/// worst rows the sizes that its bound is made of. Numbers that are not finite are the strings
/// "nan", "inf" and "-inf"; `d` is the column of out, the key of the weights, -1 for the LSE.
std::string json_text(const CheckReport& report, const Judged& judged);

}  // namespace regard::cli
