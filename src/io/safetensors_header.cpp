#include "io/safetensors_header.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "io/file_error.h"
#include "io/layout.h"

namespace regard::io {
namespace {

using Json = nlohmann::json;

/// Where in the header the next event falls.
enum class Place { start, names, tensor, fields, dtype, shape, offsets, metadata, finished };

/// Takes nlohmann's events; a false return stops it and leaves the reason in fault().
class HeaderEvents {
 public:
  explicit HeaderEvents(std::vector<TensorEntry>& entries) : entries_(entries) {}

  std::string& fault() { return fault_; }

  bool null() { return other("null"); }
  bool boolean(bool) { return other("a truth value"); }
  bool number_float(double, const std::string& digits) { return other(in_quotes(digits)); }
  bool binary(Json::binary_t&) { return other("binary data"); }
  bool number_integer(std::int64_t value) { return other(fmt::format("{}", value)); }
  bool number_unsigned(std::uint64_t value);
  bool string(std::string& text);
  bool start_object(std::size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) {
    return stop(fmt::format("the header is not JSON at its byte {}", byte));
  }

 private:
  bool stop(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool other(std::string_view found);
  bool start_field(const std::string& name);
  bool finish_tensor();
  std::string wanted() const;

  std::vector<TensorEntry>& entries_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> fields_;
  std::size_t offsets_ = 0;         ///< numbers seen in data_offsets
  std::size_t array_depth_ = 0;     ///< in the tensor's field
  std::size_t metadata_depth_ = 0;  ///< open objects and arrays below "__metadata__"
  Place place_ = Place::start;
  std::string fault_;
};

std::string HeaderEvents::wanted() const {
  switch (place_) {
    case Place::tensor:
      return fmt::format("tensor {} must be an object", in_quotes(entries_.back().name));
    case Place::dtype:
      return fmt::format("the dtype of tensor {} must be a string",
                         in_quotes(entries_.back().name));
    case Place::shape:
      return fmt::format("the shape of tensor {} must be a list of whole numbers from 0 on",
                         in_quotes(entries_.back().name));
    case Place::offsets:
      return fmt::format("the data_offsets of tensor {} must be two whole numbers from 0 on",
                         in_quotes(entries_.back().name));
    default:
      return "the header must be an object";
  }
}

/// A value that fits no place but metadata.
bool HeaderEvents::other(std::string_view found) {
  if (place_ == Place::metadata && metadata_depth_ > 0) return true;
  if (place_ == Place::metadata) return stop("\"__metadata__\" must be an object");
  return stop(fmt::format("{}, not {}", wanted(), found));
}

bool HeaderEvents::number_unsigned(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (array_depth_ == 0 || value > kMost) return other(fmt::format("{}", value));
  TensorEntry& entry = entries_.back();
  if (place_ == Place::shape) {
    if (entry.shape.size() == kMaxRank) {
      return stop(fmt::format("the shape of tensor {} has more than {} axes", in_quotes(entry.name),
                              kMaxRank));
    }
    entry.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  if (offsets_ == 2) return other("three");
  (offsets_++ == 0 ? entry.begin : entry.end) = value;
  return true;
}

bool HeaderEvents::string(std::string& text) {
  if (place_ != Place::dtype) return other(in_quotes(text));
  entries_.back().dtype = text;
  place_ = Place::fields;
  return true;
}

bool HeaderEvents::start_object(std::size_t) {
  if (place_ == Place::start) {
    place_ = Place::names;
  } else if (place_ == Place::tensor) {
    place_ = Place::fields;
    fields_.clear();
  } else if (place_ == Place::metadata) {
    ++metadata_depth_;
  } else {
    return other("an object");
  }
  return true;
}

bool HeaderEvents::key(std::string& name) {
  if (place_ == Place::metadata) return true;
  if (place_ == Place::fields) return start_field(name);
  if (!names_.insert(name).second) {
    return stop(fmt::format("the header has two tensors {}", in_quotes(name)));
  }
  if (name == "__metadata__") {
    place_ = Place::metadata;
    return true;
  }
  entries_.push_back({.name = name, .dtype = {}, .shape = {}, .begin = 0, .end = 0});
  place_ = Place::tensor;
  return true;
}

bool HeaderEvents::start_field(const std::string& name) {
  const std::string& tensor = entries_.back().name;
  if (!fields_.insert(name).second) {
    return stop(
        fmt::format("tensor {} has the field {} twice", in_quotes(tensor), in_quotes(name)));
  }
  if (name == "dtype") {
    place_ = Place::dtype;
  } else if (name == "shape") {
    place_ = Place::shape;
  } else if (name == "data_offsets") {
    place_ = Place::offsets;
    offsets_ = 0;
  } else {
    return stop(
        fmt::format("tensor {} has the unknown field {}", in_quotes(tensor), in_quotes(name)));
  }
  return true;
}

bool HeaderEvents::finish_tensor() {
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!fields_.contains(field)) {
      return stop(fmt::format("tensor {} has no {}", in_quotes(entries_.back().name), field));
    }
  }
  place_ = Place::names;
  return true;
}

bool HeaderEvents::end_object() {
  if (place_ == Place::metadata) {
    if (--metadata_depth_ == 0) place_ = Place::names;
    return true;
  }
  if (place_ == Place::fields) return finish_tensor();
  place_ = Place::finished;
  return true;
}

bool HeaderEvents::start_array(std::size_t) {
  if (place_ == Place::metadata && metadata_depth_ > 0) {
    ++metadata_depth_;
    return true;
  }
  const bool takes_array = place_ == Place::shape || place_ == Place::offsets;
  if (!takes_array || array_depth_ > 0) return other("a list");
  array_depth_ = 1;
  return true;
}

bool HeaderEvents::end_array() {
  if (place_ == Place::metadata) {
    --metadata_depth_;
    return true;
  }
  if (place_ == Place::offsets && offsets_ != 2) return other(fmt::format("{}", offsets_));
  array_depth_ = 0;
  place_ = Place::fields;
  return true;
}

}  // namespace

std::string parse_safetensors_header(std::string_view json, std::vector<TensorEntry>& entries) {
  HeaderEvents events(entries);
  Json::sax_parse(json.begin(), json.end(), &events);
  return std::move(events.fault());
}

}  // namespace regard::io
