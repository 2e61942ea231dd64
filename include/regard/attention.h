// Exact scaled-dot-product attention: out = softmax(scale q k') v for every batch entry and head,
// in O((Sq + Skv) D) memory. docs/math.md fixes the letters and the order of operations.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "regard/context.h"
#include "regard/export.h"
#include "regard/options.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// What to write. Every tensor may be absent (null data); outputs may overlap neither the inputs
/// nor one another. C is the compute type: f32, for f64 inputs f64. Entropy, top keys and key mass
/// cost a second pass over the tiles, O(S) memory.
struct Outputs {
  Tensor out{};          ///< (B, Hq, Sq, Dv), any float type
  Tensor lse{};          ///< (B, Hq, Sq, 1), C, natural logarithm, sinks included; -inf: empty row
  Tensor weights{};      ///< (B, Hq, R, Skv), C, R = number of `rows` (Sq if empty)
  Tensor entropy{};      ///< (B, Hq, Sq, 1), C: -sum p ln p over the keys, 0 for an empty row
  Tensor top_weights{};  ///< (B, Hq, Sq, N), C: the N (1 to 1024) largest, falling; 0 where none
  Tensor top_keys{};     ///< (B, Hq, Sq, N), i64: their keys, equal weights by key; -1 where none
  Tensor key_mass{};     ///< (B, Hq, 1, Skv), C: the sum of a key's weights over all rows
};

/// Attention of q (B, Hq, Sq, D), k (B, Hkv, Skv, D), v (B, Hkv, Skv, Dv), all of one float type.
/// Query head h reads KV head floor(h Hkv / Hq). A row that sees no key gives 0.
/// Errors: invalid_argument or unsupported with a sentence, outputs untouched; out_of_memory,
/// outputs untouched; cancelled, outputs unspecified.
REGARD_API Status forward(const Context& context, const ConstTensor& q, const ConstTensor& k,
                          const ConstTensor& v, const Outputs& outputs,
                          const Options& options = {}) noexcept;

/// Where sequences lie in packed arrays: sequence n has rows [q[n], q[n + 1]) and keys
/// [kv[n], kv[n + 1]). Both start at 0, never fall and end at the packed lengths.
struct Sequences {
  std::span<const std::int64_t> q;
  std::span<const std::int64_t> kv;
};

/// Attention of each sequence of a packed batch: q (1, Hq, total rows, D), k (1, Hkv, total keys,
/// D), v (1, Hkv, total keys, Dv); out, lse, entropy, top_weights, top_keys and key_mass are packed
/// likewise. Gives the bits of one `forward` a sequence. Options count as for a batch of N
/// sequences, Sq and Skv being the longest: mask and bias broadcast against (N, Hq, Sq, Skv), and
/// q_offset may have N numbers; q_len and kv_len may not be given. Weights are not served.
REGARD_API Status forward_varlen(const Context& context, const ConstTensor& q, const ConstTensor& k,
                                 const ConstTensor& v, const Sequences& sequences,
                                 const Outputs& outputs, const Options& options = {}) noexcept;

/// How `forward` would serve the same arguments. No tensor memory is touched.
struct Explanation {
  Path path = Path::automatic;
  std::string path_reason;
  std::string unit;  ///< what multiplies q and k: "fma", "dot", "tile", or one emulated
  std::string isa;
  std::string isa_reason;
  int threads = 1;
  std::int64_t rows_per_tile = 0;   ///< query rows computed together, lanes included
  std::int64_t keys_per_tile = 0;   ///< keys computed together
  std::int64_t keys_per_block = 0;  ///< keys between two visits of the accumulators
  std::int64_t rows_per_item = 0;   ///< query rows of one work item
  std::int64_t main_items = 0;      ///< work items of all rows: every output but those below
  std::int64_t weights_items = 0;   ///< work items of a separate weights pass over chosen rows
  std::int64_t mass_items = 0;      ///< work items of the pass for key_mass
  std::int64_t tiles_visited = 0;   ///< key x row tiles computed by the main items
  std::int64_t tiles_total = 0;     ///< tiles if every row saw every key
  std::int64_t scratch_bytes = 0;   ///< of the context, or of `scratch`, during the call
  /// Score tiles computed for each tile visited: 1, and 1 more for each second pass that weights,
  /// entropy, top keys or key mass ask for. The LSE costs none.
  double passes = 1;
  std::string score_reason;  ///< which form of the scores runs, and why
  std::string input_reason;  ///< how K and V are read: in place, or copied block by block
};

/// The explanation as lines of text, each ended by a newline.
REGARD_API std::string to_text(const Explanation& explanation);

/// Fills `explanation`. Errors: what `forward` refuses before it looks at memory; `explanation` is
/// then untouched.
REGARD_API Status explain(const Context& context, const ConstTensor& q, const ConstTensor& k,
                          const ConstTensor& v, const Outputs& outputs, const Options& options,
                          Explanation& explanation) noexcept;

/// The same for `forward_varlen`.
REGARD_API Status explain_varlen(const Context& context, const ConstTensor& q, const ConstTensor& k,
                                 const ConstTensor& v, const Sequences& sequences,
                                 const Outputs& outputs, const Options& options,
                                 Explanation& explanation) noexcept;

}  // namespace regard
