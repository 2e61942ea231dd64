#include "check/conventions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace regard::judging {
namespace {

double scale_of(const Setting& s) {
  return s.options.scale.value_or(1 / std::sqrt(double(s.q.shape[3])));
}
bool has_scale(const Setting& s, double scale) {
  return scale_of(s) == scale;
}
bool has_bias(const Setting& s) {
  return s.options.bias.data != nullptr;
}
bool has_alibi(const Setting& s) {
  return s.options.alibi_slopes.data != nullptr;
}
bool has_mask(const Setting& s) {
  return s.options.mask.data != nullptr;
}
bool has_sinks(const Setting& s) {
  return s.options.sinks.data != nullptr;
}
bool has_softcap(const Setting& s) {
  return s.options.softcap > 0;
}
bool has_lse(const Setting& s) {
  return s.lse.data != nullptr;
}
bool has_window(const Setting& s) {
  return s.options.window.left != -1 || s.options.window.right != -1;
}
bool can_grow(std::int64_t side) {
  return side >= 0 && side < std::numeric_limits<std::int64_t>::max();
}
/// Some row may be empty.
bool hides(const Setting& s) {
  const Options& o = s.options;
  return o.causal != Causal::none || has_window(s) || has_mask(s) || has_bias(s) ||
         !o.kv_len.empty() || s.k.shape[2] == 0;
}
bool always(const Setting&) {
  return true;
}

/// An axis of size 1 may have any stride.
bool lies(const ConstTensor& t, const Strides& strides) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (t.shape[axis] > 1 && t.strides[axis] != strides[axis]) return false;
  }
  return t.data != nullptr;
}
bool dense(const ConstTensor& t) {
  return lies(t, dense_strides(t.shape));
}
bool lies_bshd(const ConstTensor& t) {
  return lies(t, bshd_strides(t.shape));
}
/// Strides of memory laid out as (B, H, D, S).
Strides transposed_strides(const Shape& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], 1, shape[2]};
}
void read_as_bshd(ConstTensor& t) {
  t.strides = bshd_strides(t.shape);
}
bool dense_inputs(const Setting& s) {
  return dense(s.q) && dense(s.k) && dense(s.v);
}
void exchange_axes(ConstTensor& t) {
  std::swap(t.shape[1], t.shape[2]);
  std::swap(t.strides[1], t.strides[2]);
}

using S = Setting;

constexpr Alternative kAlternatives[] = {
    {"causal=none", "sees keys ahead of the row: it is not causal",
     [](const S& s) { return s.options.causal != Causal::none; },
     [](S& s) { s.options.causal = Causal::none; }},
    {"causal=top_left", "aligns to the top left",
     [](const S& s) { return s.options.causal != Causal::top_left; },
     [](S& s) { s.options.causal = Causal::top_left; }},
    {"causal=bottom_right", "aligns to the bottom right",
     [](const S& s) { return s.options.causal != Causal::bottom_right; },
     [](S& s) { s.options.causal = Causal::bottom_right; }},
    {"alignment=bottom_right", "counts window and ALiBi from the bottom right, causal or not",
     [](const S& s) { return has_window(s) || has_alibi(s); },
     [](S& s) { s.deviation.alignment = Deviation::Alignment::bottom_right; }},
    {"alignment=padded", "aligns to the ends of the arrays, whatever the lengths",
     [](const S& s) { return !s.options.q_len.empty() || !s.options.kv_len.empty(); },
     [](S& s) { s.deviation.alignment = Deviation::Alignment::padded; }},
    {"q_offset=none", "ignores q_offset", [](const S& s) { return !s.options.q_offset.empty(); },
     [](S& s) { s.options.q_offset = {}; }},

    {"scale=1", "does not scale the scores", [](const S& s) { return !has_scale(s, 1); },
     [](S& s) { s.options.scale = 1; }},
    {"scale=default", "scales by 1/sqrt(D), whatever scale is given",
     [](const S& s) {
       return s.options.scale && !has_scale(s, 1 / std::sqrt(double(s.q.shape[3])));
     },
     [](S& s) { s.options.scale.reset(); }},
    {"scale=1/D", "scales by 1/D",
     [](const S& s) { return !has_scale(s, 1 / double(s.q.shape[3])); },
     [](S& s) { s.options.scale = 1 / double(s.q.shape[3]); }},
    {"scale=1/sqrt(Dv)", "scales by 1/sqrt(Dv), the head size of the values",
     [](const S& s) { return !has_scale(s, 1 / std::sqrt(double(s.v.shape[3]))); },
     [](S& s) { s.options.scale = 1 / std::sqrt(double(s.v.shape[3])); }},
    {"scale=twice", "applies the scale twice", [](const S& s) { return !has_scale(s, 1); },
     [](S& s) { s.options.scale = scale_of(s) * scale_of(s); }},

    {"groups=tiled", "lets query head h read KV head h mod Hkv",
     [](const S& s) { return s.k.shape[1] > 1 && s.q.shape[1] > s.k.shape[1]; },
     [](S& s) { s.deviation.tiled_groups = true; }},

    {"window=none", "ignores the window", has_window, [](S& s) { s.options.window = {}; }},
    {"window.left=-1", "counts the row itself as one of the keys to its left",
     [](const S& s) { return s.options.window.left > 0; }, [](S& s) { --s.options.window.left; }},
    {"window.left=+1", "sees one key more to the left",
     [](const S& s) { return can_grow(s.options.window.left); },
     [](S& s) { ++s.options.window.left; }},
    {"window.right=-1", "counts the row itself as one of the keys to its right",
     [](const S& s) { return s.options.window.right > 0; }, [](S& s) { --s.options.window.right; }},
    {"window.right=+1", "sees one key more to the right",
     [](const S& s) { return can_grow(s.options.window.right); },
     [](S& s) { ++s.options.window.right; }},

    {"mask=none", "ignores the mask", has_mask, [](S& s) { s.options.mask = {}; }},
    {"mask=inverted", "hides where the mask is true", has_mask,
     [](S& s) { s.deviation.inverted_mask = true; }},
    {"softcap=none", "does not cap the scores", has_softcap, [](S& s) { s.options.softcap = 0; }},
    {"softcap=after_bias", "caps after bias and ALiBi are added",
     [](const S& s) { return has_softcap(s) && (has_bias(s) || has_alibi(s)); },
     [](S& s) { s.deviation.softcap = Deviation::Softcap::after_bias; }},
    {"softcap=after_mask", "caps after hiding, which gives hidden keys the score -softcap",
     [](const S& s) { return has_softcap(s) && hides(s); },
     [](S& s) { s.deviation.softcap = Deviation::Softcap::after_mask; }},
    {"bias=none", "ignores the bias", has_bias, [](S& s) { s.options.bias = {}; }},
    {"bias=scaled", "scales the bias with the scores",
     [](const S& s) { return has_bias(s) && !has_scale(s, 1); },
     [](S& s) { s.deviation.scaled_bias = true; }},
    {"alibi=none", "ignores alibi_slopes", has_alibi, [](S& s) { s.options.alibi_slopes = {}; }},
    {"alibi=rising", "adds slope |position - j| instead of subtracting it", has_alibi,
     [](S& s) { s.deviation.alibi = Deviation::Alibi::rising; }},
    {"alibi=one_way", "adds slope (j - position), which raises keys ahead of the row", has_alibi,
     [](S& s) { s.deviation.alibi = Deviation::Alibi::one_way; }},
    {"sinks=none", "ignores the sinks", has_sinks, [](S& s) { s.options.sinks = {}; }},
    {"sinks=scaled", "scales the sinks with the scores",
     [](const S& s) { return has_sinks(s) && !has_scale(s, 1); },
     [](S& s) { s.deviation.scaled_sinks = true; }},
    {"kv_len=none", "ignores kv_len", [](const S& s) { return !s.options.kv_len.empty(); },
     [](S& s) { s.options.kv_len = {}; }},
    {"q_len=none", "ignores q_len", [](const S& s) { return !s.options.q_len.empty(); },
     [](S& s) { s.options.q_len = {}; }},

    {"empty=mean", "gives empty rows the mean of the values", hides,
     [](S& s) { s.deviation.empty = Deviation::Empty::mean; }},
    {"empty=nan", "gives empty rows NaN", hides,
     [](S& s) { s.deviation.empty = Deviation::Empty::spoiled; }},
    {"empty=lse_inf", "gives empty rows the LSE +infinity",
     [](const S& s) { return has_lse(s) && hides(s); },
     [](S& s) { s.deviation.empty = Deviation::Empty::plus_lse; }},

    {"lse=base2", "gives the LSE as a binary logarithm", has_lse,
     [](S& s) { s.deviation.lse = Deviation::Lse::base2; }},
    {"lse=unscaled", "gives the LSE of scores without the scale",
     [](const S& s) { return has_lse(s) && !has_scale(s, 1); },
     [](S& s) { s.deviation.lse = Deviation::Lse::unscaled; }},
    {"lse=unscaled_max", "adds the logarithm of the sum to a largest score without the scale",
     [](const S& s) { return has_lse(s) && !has_scale(s, 1); },
     [](S& s) { s.deviation.lse = Deviation::Lse::unscaled_max; }},
    {"lse=without_sink", "leaves the sink out of the LSE",
     [](const S& s) { return has_lse(s) && has_sinks(s); },
     [](S& s) { s.deviation.lse = Deviation::Lse::without_sink; }},

    {"layout=out_bshd", "writes its result as (B, S, H, D)",
     [](const S& s) { return dense(s.out); }, [](S& s) { read_as_bshd(s.out); }},
    {"layout=out_bhsd", "writes its result as (B, H, S, D)",
     [](const S& s) { return lies_bshd(s.out); },
     [](S& s) { s.out.strides = dense_strides(s.out.shape); }},
    {"layout=out_bhds", "writes its result transposed, as (B, H, D, S)",
     [](const S& s) { return dense(s.out); },
     [](S& s) { s.out.strides = transposed_strides(s.out.shape); }},
    {"layout=lse_bsh", "writes its LSE as (B, S, H)", [](const S& s) { return dense(s.lse); },
     [](S& s) { read_as_bshd(s.lse); }},
    {"layout=exchanged", "takes heads for rows: it expects (B, S, H, D)", always,
     [](S& s) {
       for (ConstTensor* t : {&s.q, &s.k, &s.v, &s.out, &s.lse}) exchange_axes(*t);
       s.exchanged = true;
       s.weights = {};  // of other rows and keys
     }},
    {"layout=bshd", "reads the memory of q, k and v and writes its result as (B, S, H, D)",
     [](const S& s) { return dense_inputs(s) && dense(s.out); },
     [](S& s) {
       for (ConstTensor* t : {&s.q, &s.k, &s.v, &s.out}) read_as_bshd(*t);
     }},
    {"layout=inputs_bshd", "reads the memory of q, k and v as (B, S, H, D)", dense_inputs,
     [](S& s) {
       for (ConstTensor* t : {&s.q, &s.k, &s.v}) read_as_bshd(*t);
     }},
    {"layout=inputs_bhds", "reads the memory of q, k and v transposed, as (B, H, D, S)",
     dense_inputs,
     [](S& s) {
       for (ConstTensor* t : {&s.q, &s.k, &s.v}) t->strides = transposed_strides(t->shape);
     }},
};

std::string_view subject(const Alternative& x) {
  const std::string_view name = x.name;
  return name.substr(0, name.find('='));
}

}  // namespace

std::span<const Alternative> alternatives() noexcept {
  return kAlternatives;
}

bool same_subject(const Alternative& x, const Alternative& y) noexcept {
  return subject(x) == subject(y);
}

}  // namespace regard::judging
