// The class regard.KVCache.
#include "cache.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "method.h"
#include "options.h"
#include "raise.h"
#include "single_arrays.h"

namespace regard::python {

KvType to_kv_type(const char* name, nb::handle value) {
  const bool is_text = PyUnicode_Check(value.ptr());
  std::string all;
  for (int n = 0; n <= int(KvType::q4_0); ++n) {
    const char* const known = kv_type_name(KvType(n));
    if (is_text && PyUnicode_CompareWithASCIIString(value.ptr(), known) == 0) return KvType(n);
    all += (n ? ", " : "") + std::string(known);
  }
  raise(is_text ? PyExc_ValueError : PyExc_TypeError,
        std::string(name) + ": " + repr_text(value) + " is none of " + all);
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

constexpr Parameter kOptions[] = {
    {"kv_heads", true}, {"k_head_size", true}, {"v_head_size"}, {"pages", true}, {"k_type"},
    {"v_type"},         {"page_tokens"},       {"window"},      {"keep_first"},  {"spare"}};
static_assert(std::size(kOptions) <= MethodArguments::kMost);
constexpr Parameter kSequence[] = {{"sequence", true}};
constexpr Parameter kTrimmed[] = {{"sequence", true}, {"length", true}};
constexpr Parameter kAppended[] = {{"sequence", true}, {"k", true}, {"v", true}, {"layout"}};
constexpr Parameter kGathered[] = {{"sequence", true}, {"begin"},  {"end"},
                                   {"out_dtype"},      {"layout"}, {"out"}};

constexpr Method kCreate = {"KVCache", kOptions, 3};
constexpr Method kAdd = {"add", {}, 0};
constexpr Method kFork = {"fork", kSequence, 1};
constexpr Method kRemove = {"remove", kSequence, 1};
constexpr Method kAppend = {"append", kAppended, 3};
constexpr Method kTrim = {"trim", kTrimmed, 2};
constexpr Method kGather = {"gather", kGathered, 3};
constexpr Method kLength = {"length", kSequence, 1};
constexpr Method kHeldFrom = {"held_from", kSequence, 1};

void construct(Cache* self, const nb::args& values, const nb::kwargs& words) {
  const MethodArguments in(kCreate, values, words);
  KvCacheOptions options;
  options.kv_heads = in.integer("kv_heads");
  options.k_head_size = in.integer("k_head_size");
  options.v_head_size = in.integer("v_head_size", options.k_head_size);
  options.pages = in.integer("pages");
  if (!in["k_type"].is_none()) options.k_type = to_kv_type("k_type", in["k_type"]);
  options.v_type = in["v_type"].is_none() ? options.k_type : to_kv_type("v_type", in["v_type"]);
  options.page_tokens = in.integer("page_tokens", options.page_tokens);
  options.window = in.integer("window", options.window);
  options.keep_first = in.integer("keep_first", options.keep_first);
  options.spare = in.integer("spare", options.spare);
  KvCache cache;
  require(KvCache::create(options, cache));
  new (self) Cache(std::move(cache));
}

nb::object add(Cache& self, const MethodArguments&) {
  return nb::int_(self.write([](KvCache& cache) {
                        Answer<std::int64_t> answer;
                        answer.status = cache.add(answer.value);
                        return answer;
                      })
                      .get());
}

nb::object fork(Cache& self, const MethodArguments& in) {
  const std::int64_t sequence = in.integer("sequence");
  return nb::int_(self.write([&](KvCache& cache) {
                        Answer<std::int64_t> answer;
                        answer.status = cache.fork(sequence, answer.value);
                        return answer;
                      })
                      .get());
}

nb::object remove(Cache& self, const MethodArguments& in) {
  const std::int64_t sequence = in.integer("sequence");
  require(self.write([&](KvCache& cache) { return cache.remove(sequence); }));
  return nb::none();
}

nb::object trim(Cache& self, const MethodArguments& in) {
  const std::int64_t sequence = in.integer("sequence");
  const std::int64_t length = in.integer("length");
  require(self.write([&](KvCache& cache) { return cache.trim(sequence, length); }));
  return nb::none();
}

nb::object append(Cache& self, const MethodArguments& in) {
  const std::int64_t sequence = in.integer("sequence");
  Array k_array, v_array;
  const Layout order = layout_of(in["layout"]);
  const Tensor k_view = take_any("k", in["k"], order, k_array);
  const Tensor v_view = take_any("v", in["v"], order, v_array);
  require(self.write([&](KvCache& cache) { return cache.append(sequence, k_view, v_view); }));
  return nb::none();
}

nb::object length(Cache& self, const MethodArguments& in) {
  return nb::int_(known(self, in.integer("sequence"), &KvCache::length));
}

nb::object held_from(Cache& self, const MethodArguments& in) {
  return nb::int_(known(self, in.integer("sequence"), &KvCache::held_from));
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

constexpr char kTrimDoc[] =
    "Keeps the first `length` tokens. ValueError where a ring has dropped what would be held.";

Cache& cache_of(nb::handle object) {
  if (!nb::inst_ready(object)) {
    raise(PyExc_TypeError, "KVCache: this one was never made; its __init__ has not been called");
  }
  return *nb::inst_ptr<Cache>(object);
}

/// A method as Python calls it.
template <const Method& method, nb::object (*body)(Cache&, const MethodArguments&)>
PyObject* call(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  return entry([&] {
    const MethodArguments in(method, values, count, names);
    return body(cache_of(self), in).release().ptr();
  });
}

template <const Method& method, nb::object (*body)(Cache&, const MethodArguments&)>
void add_method(nb::class_<Cache>& type, const char* parameters, const char* text) {
  static const std::string doc = std::string(method.name) + parameters + "\n--\n\n" + text;
  static PyMethodDef definition = {
      method.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call<method, body>)),
      METH_FASTCALL | METH_KEYWORDS, doc.c_str()};
  auto* const of = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr(method.name) = nb::steal(checked(PyDescr_NewMethod(of, &definition)));
}

}  // namespace

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

void add_cache(nb::module_& module) {
  nb::class_<Cache> type(module, "KVCache", kClassDoc);
  type.def("__init__", construct,
           nb::sig("def __init__(self, kv_heads: int, k_head_size: int, "
                   "v_head_size: int | None = None, *, pages: int, k_type: str = 'f16', "
                   "v_type: str | None = None, page_tokens: int = 64, window: int = -1, "
                   "keep_first: int = 0, spare: int = 0) -> None"));
  add_method<kAdd, add>(type, "($self)", "A new sequence without tokens: its number.");
  add_method<kFork, fork>(
      type, "($self, sequence)",
      "A new sequence with the same tokens, shared until one of both is written: its number.");
  add_method<kRemove, remove>(type, "($self, sequence)", "Forgets a sequence and frees its pages.");
  add_method<kAppend, append>(type, "($self, sequence, k, v, *, layout='bhsd')", kAppendDoc);
  add_method<kTrim, trim>(type, "($self, sequence, length)", kTrimDoc);
  add_method<kGather, gather>(
      type, "($self, sequence, begin=0, end=None, *, out_dtype=None, layout='bhsd', out=None)",
      kGatherDoc);
  add_method<kLength, length>(type, "($self, sequence)",
                              "Tokens appended and not trimmed, dropped ones included.");
  add_method<kHeldFrom, held_from>(type, "($self, sequence)",
                                   "The first token from keep_first on that is held.");
  type.def("__repr__", to_text);
  add_numbers(type);
}

}  // namespace regard::python
