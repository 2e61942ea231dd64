// The class regard.KVCache.
#include "cache.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "options.h"
#include "raise.h"
#include "single_arrays.h"

namespace regard::python {

KvType to_kv_type(const char* name, const std::string& text) {
  std::string all;
  for (int n = 0; n <= int(KvType::q4_0); ++n) {
    if (text == kv_type_name(KvType(n))) return KvType(n);
    all += (n ? ", " : "") + std::string(kv_type_name(KvType(n)));
  }
  raise(PyExc_ValueError, std::string(name) + ": '" + text + "' is none of " + all);
}

namespace {

/// What a call on a cache gives: its value, or its error as Python's.
template <class Value>
struct Answer {
  Status status;
  Value value{};

  Value get() const {
    require(status);
    return value;
  }
};

void construct(Cache* self, std::int64_t kv_heads, std::int64_t k_head_size,
               std::optional<std::int64_t> v_head_size, std::int64_t pages,
               const std::string& k_type, const std::optional<std::string>& v_type,
               std::int64_t page_tokens, std::int64_t window, std::int64_t keep_first,
               std::int64_t spare) {
  const KvCacheOptions options{
      .k_type = to_kv_type("k_type", k_type),
      .v_type = to_kv_type("v_type", v_type.value_or(k_type)),
      .kv_heads = kv_heads,
      .k_head_size = k_head_size,
      .v_head_size = v_head_size.value_or(k_head_size),
      .page_tokens = page_tokens,
      .pages = pages,
      .window = window,
      .keep_first = keep_first,
      .spare = spare,
  };
  KvCache cache;
  require(KvCache::create(options, cache));
  new (self) Cache(std::move(cache));
}

std::int64_t add(Cache& self) {
  return self
      .write([](KvCache& cache) {
        Answer<std::int64_t> answer;
        answer.status = cache.add(answer.value);
        return answer;
      })
      .get();
}

std::int64_t fork(Cache& self, nb::handle which) {
  const std::int64_t sequence = integer("sequence", which);
  return self
      .write([&](KvCache& cache) {
        Answer<std::int64_t> answer;
        answer.status = cache.fork(sequence, answer.value);
        return answer;
      })
      .get();
}

void remove(Cache& self, nb::handle which) {
  const std::int64_t sequence = integer("sequence", which);
  require(self.write([&](KvCache& cache) { return cache.remove(sequence); }));
}

void trim(Cache& self, nb::handle which, nb::handle tokens) {
  const std::int64_t sequence = integer("sequence", which);
  const std::int64_t length = integer("length", tokens);
  require(self.write([&](KvCache& cache) { return cache.trim(sequence, length); }));
}

void append(Cache& self, nb::handle which, nb::handle k, nb::handle v, nb::handle layout) {
  const std::int64_t sequence = integer("sequence", which);
  Array k_array, v_array;
  const Layout order = layout_of(layout);
  const Tensor k_view = take_any("k", k, order, k_array);
  const Tensor v_view = take_any("v", v, order, v_array);
  require(self.write([&](KvCache& cache) { return cache.append(sequence, k_view, v_view); }));
}

/// -1 is the engine's word for no such sequence; a call that does nothing says the sentence.
std::int64_t known(const Cache& self, std::int64_t sequence,
                   std::int64_t (KvCache::*number)(std::int64_t) const noexcept) {
  return self
      .read([&](const KvCache& cache) {
        Answer<std::int64_t> answer{{}, (cache.*number)(sequence)};
        if (answer.value < 0) answer.status = cache.gather(sequence, 0, {}, {});
        return answer;
      })
      .get();
}

std::int64_t length(const Cache& self, nb::handle which) {
  return known(self, integer("sequence", which), &KvCache::length);
}

std::int64_t held_from(const Cache& self, nb::handle which) {
  return known(self, integer("sequence", which), &KvCache::held_from);
}

/// Tokens of K or V, gathered into `given`, or into a NumPy array of their own.
struct Tokens {
  Array array;
  nb::object object;
  Tensor view;

  void take(const char* name, nb::handle given, Layout layout) {
    object = nb::borrow(given);
    view = take_any(name, given, layout, array, Array::Access::write);
  }

  void make(const char* name, const Shape& shape, DType dtype, Layout layout) {
    const std::span<const int> axes = tensor_axes(3, layout);
    object = array.make(name, Kind::numpy, shape, axes, dtype);
    view = array.view(axes);
  }
};

/// The arrays `out` of gather: a pair (k, v), which has to fit what else is said.
void take_pair(nb::handle out, Layout layout, nb::handle out_dtype, Tokens& k, Tokens& v) {
  const nb::tuple pair(nb::borrow(out));
  if (nb::len(pair) != 2) {
    raise(PyExc_ValueError,
          "out: " + std::to_string(nb::len(pair)) + " arrays where 2 (k, v) are needed");
  }
  k.take("out[0]", pair[0], layout);
  v.take("out[1]", pair[1], layout);
  require_type_of_out(out_dtype, k.view.dtype);
  require_type_of_out(out_dtype, v.view.dtype);
}

nb::tuple gather(const Cache& self, nb::handle which, nb::handle begin, nb::handle end,
                 nb::handle out_dtype, nb::handle layout, nb::handle out) {
  const KvCacheOptions& options = self.options();
  const Layout order = layout_of(layout);
  const std::int64_t sequence = integer("sequence", which), first = integer("begin", begin);
  Tokens k, v;
  if (!out.is_none()) take_pair(out, order, out_dtype, k, v);
  const std::int64_t tokens = known(self, sequence, &KvCache::length);
  std::int64_t last = out.is_none() ? tokens : k.view.shape[2];
  if (!end.is_none()) last = integer("end", end);
  if (!out.is_none()) {
    if (!end.is_none() && last - first != k.view.shape[2]) {
      raise(PyExc_ValueError, "end: " + std::to_string(last) + " from begin " +
                                  std::to_string(first) + " differs from the " +
                                  std::to_string(k.view.shape[2]) + " tokens of out");
    }
  } else {
    if (first < 0 || last < first || last > tokens) {
      raise(PyExc_ValueError, "begin, end: " + std::to_string(first) + " and " +
                                  std::to_string(last) + " are no part of the " +
                                  std::to_string(tokens) + " tokens of sequence " +
                                  std::to_string(sequence));
    }
    const DType dtype = out_dtype.is_none() ? DType::f32 : float_type(Name::out_dtype, out_dtype);
    k.make("k", {1, options.kv_heads, last - first, options.k_head_size}, dtype, order);
    v.make("v", {1, options.kv_heads, last - first, options.v_head_size}, dtype, order);
  }
  require(self.read(
      [&](const KvCache& cache) { return cache.gather(sequence, first, k.view, v.view); }));
  return nb::make_tuple(k.object, v.object);
}

std::string to_text(const Cache& self) {
  const KvCacheOptions& o = self.options();
  const std::int64_t free = self.read([](const KvCache& cache) { return cache.free_pages(); });
  return "<regard.KVCache: kv_heads=" + std::to_string(o.kv_heads) +
         ", k_head_size=" + std::to_string(o.k_head_size) +
         ", v_head_size=" + std::to_string(o.v_head_size) + ", k_type='" + kv_type_name(o.k_type) +
         "', v_type='" + kv_type_name(o.v_type) + "', " + std::to_string(o.pages - free) + " of " +
         std::to_string(o.pages) + " pages of " + std::to_string(o.page_tokens) + " tokens in use>";
}

template <class Member>
auto option(Member member) {
  return [member](const Cache& self) { return self.options().*member; };
}

auto number(std::int64_t (KvCache::*member)() const noexcept) {
  return [member](const Cache& self) {
    return self.read([member](const KvCache& cache) { return (cache.*member)(); });
  };
}

void add_numbers(nb::class_<Cache>& type) {
  type.def_prop_ro(
          "k_type", [](const Cache& c) { return kv_type_name(c.options().k_type); },
          "What K is stored as.")
      .def_prop_ro(
          "v_type", [](const Cache& c) { return kv_type_name(c.options().v_type); },
          "What V is stored as.")
      .def_prop_ro("kv_heads", option(&KvCacheOptions::kv_heads), "Hkv")
      .def_prop_ro("k_head_size", option(&KvCacheOptions::k_head_size), "D")
      .def_prop_ro("v_head_size", option(&KvCacheOptions::v_head_size), "Dv")
      .def_prop_ro("page_tokens", option(&KvCacheOptions::page_tokens), "Tokens of a page.")
      .def_prop_ro("pages", option(&KvCacheOptions::pages), "Pages of the pool.")
      .def_prop_ro("window", option(&KvCacheOptions::window), "Of a ring; -1: all is held.")
      .def_prop_ro("keep_first", option(&KvCacheOptions::keep_first),
                   "First tokens that a ring holds beside its window.")
      .def_prop_ro("spare", option(&KvCacheOptions::spare),
                   "Tokens before the window that a ring keeps.")
      .def_prop_ro("free_pages", number(&KvCache::free_pages), "Pages that no sequence holds.")
      .def_prop_ro("bytes_used", number(&KvCache::bytes_used),
                   "Bytes of pages in use, scales and padding included; shared ones count once.")
      .def_prop_ro("bytes_reserved", number(&KvCache::bytes_reserved), "Bytes of the whole pool.");
}

constexpr char kClassDoc[] = R"(Keys and values of running sequences, in pages of one pool.

Args:
    kv_heads: Hkv. k_head_size: D. v_head_size: Dv; absent: D.
    pages: of the pool, all sequences together; memory is touched when tokens come.
    k_type, v_type: f32, f16, bf16, fp8_e4m3, fp8_e5m2, int8, int8_32, int4_32, q8_0 or q4_0;
        v_type absent: k_type. docs/kv-cache.md says what each costs in bytes and accuracy.
    page_tokens: tokens of a page, a multiple of 16; 16 to 256, or as many as the longest sequence
        will have: the cache is then contiguous.
    window: -1, everything is held; else a ring that holds the first keep_first and the last
        `window` tokens of each sequence.
    spare: tokens before the window that a ring keeps, so that `trim` can go back by so many.

Raises:
    ValueError: options that contradict themselves. MemoryError: the system refuses the pool.

Several threads may use one cache: `decode`, `gather` and numbers run at once, calls that change it
alone. A call that fails leaves it as it was. Source: include/regard/kv_cache.h.)";

constexpr char kAppendDoc[] = R"(Appends T tokens behind the others.

Args:
    k: (Hkv, T, D), v: (Hkv, T, Dv), any float types and strides; with layout "bshd" (T, Hkv, D).
        A leading axis of size 1 is allowed, and 2-D (T, D) is one head.

Numbers are rounded once, to nearest; quantised blocks take the least scale that holds their
largest number.

Raises:
    ValueError: no such sequence, or shapes that disagree. MemoryError: too few free pages.)";

constexpr char kGatherDoc[] = R"(Tokens begin to end - 1 as `decode` reads them.

Args:
    end: absent: the sequence's length.
    out_dtype: float64, float32 (absent), float16 or bfloat16; f32 is exact for every type.
    out: a pair of arrays (k, v) to write to instead of new ones, of any kind and float type; they
        then say how many tokens.

Returns:
    (k, v): NumPy arrays (Hkv, T, D) and (Hkv, T, Dv), with layout "bshd" (T, Hkv, D); or `out`.

Raises:
    ValueError: tokens that are not there, or that a ring has dropped.)";

}  // namespace

void add_cache(nb::module_& module) {
  nb::class_<Cache> type(module, "KVCache", kClassDoc);
  type.def("__init__", construct, nb::arg("kv_heads"), nb::arg("k_head_size"),
           nb::arg("v_head_size") = nb::none(), nb::kw_only(), nb::arg("pages"),
           nb::arg("k_type") = "f16", nb::arg("v_type") = nb::none(), nb::arg("page_tokens") = 64,
           nb::arg("window") = -1, nb::arg("keep_first") = 0, nb::arg("spare") = 0)
      .def("add", add, "A new sequence without tokens: its number.")
      .def("fork", fork, nb::arg("sequence").none(),
           "A new sequence with the same tokens, shared until one of both is written: its number.")
      .def("remove", remove, nb::arg("sequence").none(), "Forgets a sequence and frees its pages.")
      .def("append", append, nb::arg("sequence").none(), nb::arg("k").none(), nb::arg("v").none(),
           nb::kw_only(), nb::arg("layout").none() = "bhsd", kAppendDoc)
      .def("trim", trim, nb::arg("sequence").none(), nb::arg("length").none(),
           "Keeps the first `length` tokens. ValueError where a ring has dropped what would be "
           "held.")
      .def("gather", gather, nb::arg("sequence").none(), nb::arg("begin").none() = 0,
           nb::arg("end") = nb::none(), nb::kw_only(), nb::arg("out_dtype") = nb::none(),
           nb::arg("layout").none() = "bhsd", nb::arg("out") = nb::none(), kGatherDoc)
      .def("length", length, nb::arg("sequence").none(),
           "Tokens appended and not trimmed, dropped ones included.")
      .def("held_from", held_from, nb::arg("sequence").none(),
           "The first token from keep_first on that is held.");
  type.def("__repr__", to_text);
  add_numbers(type);
}

}  // namespace regard::python
