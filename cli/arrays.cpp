#include "arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "command.h"
#include "flags.h"
#include "text.h"

namespace regard::cli {
namespace {

using Names = std::array<std::string, 3>;
constexpr std::array<const char*, 3> kInputs = {"q", "k", "v"};

std::string names_of(const std::vector<io::NamedArray>& arrays) {
  std::vector<std::string> names;
  for (const io::NamedArray& named : arrays) names.push_back(named.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<io::NamedArray> read_file(const std::string& path) {
  std::vector<io::NamedArray> arrays;
  require(io::read_arrays(path, arrays));
  return arrays;
}

const io::Array& find_array(const std::string& path, const std::vector<io::NamedArray>& arrays,
                            const std::string& name) {
  for (const io::NamedArray& named : arrays) {
    if (named.name == name) return named.array;
  }
  throw Error(fmt::format("{}: holds no array named '{}' but {}", path, name, names_of(arrays)));
}

/// "q=query,v=value" over the defaults q, k, v.
Names parse_names(const std::string& text) {
  Names names = {"q", "k", "v"};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const auto which = std::find(kInputs.begin(), kInputs.end(), part.substr(0, part.find('=')));
    if (which == kInputs.end() || part.size() < 3) {
      throw Error(fmt::format("--names: '{}' is not q=NAME, k=NAME or v=NAME", part));
    }
    names[std::size_t(which - kInputs.begin())] = part.substr(2);
    begin = end + 1;
  }
  return names;
}

std::vector<io::Array> load_three(const InputFlags& flags) {
  const Names names = parse_names(flags.names);
  std::vector<io::Array> loaded;
  if (flags.files.size() == 1) {
    const std::string& path = flags.files.front();
    const std::vector<io::NamedArray> arrays = read_file(path);
    if (arrays.size() == 1) {
      throw Error(
          fmt::format("{}: holds one array; give three files, or one with q, k and v", path));
    }
    for (const std::string& name : names) loaded.push_back(find_array(path, arrays, name));
    return loaded;
  }
  if (flags.files.size() != kInputs.size()) {
    throw Error(fmt::format("{} input files given; give three (q k v), or one with q, k and v",
                            flags.files.size()));
  }
  for (std::size_t n = 0; n < names.size(); ++n) {
    loaded.push_back(load_array(flags.files[n], names[n]));
  }
  return loaded;
}

}  // namespace

void add_input_flags(CLI::App& app, InputFlags& flags) {
  begin_group(app, "Inputs");
  add_words(app, "files", "three files q k v, or one that holds q, k and v", flags.files);
  add_text(app,
           {"--names", "q=A,k=B,v=C",
            "what q, k and v are called in a .npz or .safetensors file; default q, k and v"},
           flags.names);
  add_choice<Layout>(app, "--layout",
                     "order of axes in memory, of inputs and of out: B,H,S,D (default) or "
                     "B,S,H,D; without B when rank is 3, without H too when it is 2",
                     {{"bhsd", Layout::bhsd}, {"bshd", Layout::bshd}}, flags.layout);
  begin_group(app, "Flags");
}

Axes tensor_axes(std::size_t rank, Layout layout) {
  Axes axes = {0, 1, 2, 3};
  axes.erase(axes.begin(), axes.begin() + std::ptrdiff_t(4 - rank));
  if (layout == Layout::bshd && rank > 2) std::swap(axes[rank - 3], axes[rank - 2]);
  return axes;
}

Axes weights_axes(std::size_t rank) {
  return tensor_axes(rank, Layout::bhsd);
}

Axes lse_axes(std::size_t rank) {
  Axes axes = weights_axes(rank);
  axes.pop_back();
  return axes;
}

Axes key_axes(std::size_t rank) {
  Axes axes = weights_axes(rank);
  axes.erase(axes.end() - 2);
  return axes;
}

io::Array load_array(const std::string& path, const std::string& name) {
  const std::vector<io::NamedArray> arrays = read_file(path);
  return arrays.size() == 1 ? arrays.front().array : find_array(path, arrays, name);
}

io::Array load_option_array(const std::string& option, const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool is_file = colon == std::string::npos || std::filesystem::exists(text);
  const std::string path = is_file ? text : text.substr(colon + 1);
  const std::string name = is_file ? option : text.substr(0, colon);
  std::vector<io::NamedArray> arrays;
  std::vector<io::OtherArray> others;
  const Status status = io::read_arrays(path, arrays, &others);
  const auto meant = [&](const auto& array) { return array.name.empty() || array.name == name; };
  const auto unread = std::find_if(others.begin(), others.end(), meant);
  if (unread != others.end()) {
    throw Error(fmt::format("{}: the elements in {} are {}, not {}", option, path, unread->type,
                            option == "mask" ? "bool, '|b1'" : "of a float type"));
  }
  require(status);
  if (arrays.size() == 1 && (is_file || arrays.front().name.empty())) return arrays.front().array;
  return find_array(path, arrays, name);
}

ConstTensor view_of(const io::Array& array, const std::string& what, const Axes& axes) {
  if (array.shape.size() != axes.size()) {
    throw Error(fmt::format("{}: rank {} of shape {} differs from the {} expected", what,
                            array.shape.size(), shape_text(array.shape), axes.size()));
  }
  ConstTensor tensor{array.data, array.dtype, {1, 1, 1, 1}, {}};
  for (std::size_t n = 0; n < axes.size(); ++n) {
    tensor.shape[axes[n]] = array.shape[n];
    tensor.strides[axes[n]] = array.strides[n];
  }
  return tensor;
}

Inputs load_inputs(const InputFlags& flags) {
  if (flags.files.empty())
    throw Error("no input files; give three (q k v), or one with q, k and v");
  Inputs inputs;
  inputs.layout = flags.layout;
  inputs.owners = load_three(flags);
  inputs.rank = inputs.owners[0].shape.size();
  if (inputs.rank < 2 || inputs.rank > 4) {
    throw Error(fmt::format("q: rank {} of shape {} is not 2 (S,D), 3 (H,S,D) or 4 (B,H,S,D)",
                            inputs.rank, shape_text(inputs.owners[0].shape)));
  }
  ConstTensor* const views[] = {&inputs.q, &inputs.k, &inputs.v};
  for (std::size_t n = 0; n < kInputs.size(); ++n) {
    if (const std::size_t rank = inputs.owners[n].shape.size(); rank != inputs.rank) {
      throw Error(fmt::format("{}: rank {} differs from q's {}", kInputs[n], rank, inputs.rank));
    }
    *views[n] = view_of(inputs.owners[n], kInputs[n], tensor_axes(inputs.rank, flags.layout));
  }
  return inputs;
}

Result make_result(const std::string& what, const Shape& shape, DType dtype, const Axes& axes) {
  Result result;
  result.array.dtype = dtype;
  result.array.shape.resize(axes.size());
  result.array.strides.resize(axes.size());
  result.tensor = {nullptr, dtype, shape, {}};
  std::int64_t size = element_bytes(dtype);
  std::int64_t stride = 1;
  for (std::size_t n = axes.size(); n-- > 0;) {
    const std::int64_t length = shape[axes[n]];
    result.array.shape[n] = length;
    result.array.strides[n] = stride;
    result.tensor.strides[axes[n]] = stride;
    if (__builtin_mul_overflow(size, std::max<std::int64_t>(length, 1), &size)) {
      throw Error(fmt::format("{}: shape {} is larger than any memory", what, shape_text(shape)));
    }
    stride *= std::max<std::int64_t>(length, 1);
  }
  const std::shared_ptr<std::byte[]> memory(new (std::nothrow) std::byte[std::size_t(size)]);
  if (!memory) throw Error(fmt::format("{}: {} could not be had", what, bytes_text(size)));
  result.array.owner = memory;
  result.array.data = memory.get();
  result.tensor.data = memory.get();
  return result;
}

}  // namespace regard::cli
