// The verdict of `regard check` for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arrays.h"
#include "regard/check.h"
#include "regard/kv_report.h"

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

/// What one pair of types does.
struct KvFindings {
  KvTypes types;
  std::int64_t bytes;  ///< of a token and KV head
  const KvReport& report;
  std::vector<KvRowReport> worst;
};

/// One JSON object: the bytes of a token and KV head as given, and the reports in their order, each
/// with its heads and its worst rows. Numbers as above; b, h, i and keys are -1 where there is
/// none.
std::string json_text(const std::vector<KvFindings>& findings, std::int64_t given_bytes);

}  // namespace regard::cli
