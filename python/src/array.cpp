#include "array.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libraries.h"

namespace regard::python {
namespace {

constexpr std::size_t kLongestFormat = 8;  // of those that a message shows

/// A device of DLPack whose memory the CPU reads.
bool is_cpu(int device) {
  return device == dlpack::kCpu || device == dlpack::kPinned;
}

bool is_numpy(nb::handle object) {
  return PyObject_TypeCheck(object.ptr(), numpy_array_type()) != 0;
}

/// What `__dlpack__` gives, null where it cannot export: by the standard a BufferError, or
/// TypeError where it is older than max_version. Other errors are the caller's to see.
nb::object exported(nb::handle object, bool writing) {
  const nb::object method = object.attr("__dlpack__");
  for (const bool versioned : {writing, !writing}) {  // versioned capsules say what is read-only
    try {
      return versioned ? method(nb::arg("max_version") = nb::make_tuple(1, 0)) : method();
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_TypeError)) throw;
    }
  }
  return {};
}

/// False for an object that has buffers but lends none to be written, such as an array of JAX,
/// which never changes: DLPack without a version cannot say so.
bool writable(nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return true;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDES | PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    return false;
  }
  PyBuffer_Release(&buffer);
  return true;
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t n = 0; n < shape.size(); ++n) {
    text += (n ? ", " : "") + std::to_string(shape[n]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

Array::~Array() {
  if (buffer_) PyBuffer_Release(&*buffer_);
}

void Array::take(const char* name, nb::handle object, Access access) {
  name_ = name;
  object_ = nb::borrow(object);
  if (is_numpy(object)) {
    if (take_buffer(access) || take_brain_floats(access)) return;
  } else if (nb::hasattr(object, "__dlpack__")) {
    if (take_tensor(access)) return;
  } else if (PyObject_CheckBuffer(object.ptr())) {
    if (take_buffer(access)) return;
  } else {
    raise(PyExc_TypeError, std::string(name) + ": '" + Py_TYPE(object.ptr())->tp_name +
                               "' is no array; it has neither a buffer nor __dlpack__");
  }
  const bool writing = access == Access::write;
  raise(PyExc_TypeError, std::string(name) + ": this '" + Py_TYPE(object.ptr())->tp_name +
                             "' gives no " + (writing ? "writable " : "") + "memory of the CPU");
}

nb::object Array::make(const char* name, Kind kind, const Shape& shape, std::span<const int> axes,
                       DType dtype) {
  std::array<std::int64_t, 4> sizes{};
  for (std::size_t n = 0; n < axes.size(); ++n) sizes[n] = shape[std::size_t(axes[n])];
  nb::object made = empty_array(kind, std::span(sizes).first(axes.size()), dtype);
  take(name, made, Access::made);
  return made;
}

bool Array::take_buffer(Access access) {
  const nb::handle source = bits_.is_valid() ? bits_ : object_;
  Py_buffer& buffer = buffer_.emplace();
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (access == Access::write ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(source.ptr(), &buffer, flags) != 0) {
    PyErr_Clear();
    buffer_.reset();
    return false;
  }
  take_rank(std::size_t(buffer.ndim));
  const char* format = buffer.format ? buffer.format : "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const bool one = std::strlen(format) == 1;
  if (one && std::strchr("efd", *format)) code_ = Code::floats;
  if (one && std::strchr("bhilqn", *format)) code_ = Code::integers;
  if (one && std::strchr("BHILQN", *format)) code_ = Code::naturals;
  if (one && *format == '?') code_ = Code::booleans;
  if (code_ == Code::other && std::strlen(format) <= kLongestFormat) format_ = format;
  bits_each_ = int(8 * buffer.itemsize);
  data_ = buffer.buf;
  Py_ssize_t dense = buffer.itemsize;
  for (int n = rank_ - 1; n >= 0; --n) {
    shape_[std::size_t(n)] = buffer.shape[n];
    // ctypes leaves the strides out, asked for or not: its arrays are dense.
    const Py_ssize_t bytes = buffer.strides ? buffer.strides[n] : dense;
    if (!buffer.strides) dense *= buffer.shape[n];
    strides_[std::size_t(n)] = bytes / std::max<Py_ssize_t>(buffer.itemsize, 1);
    if (strides_[std::size_t(n)] * buffer.itemsize != bytes && buffer.shape[n] > 1) {
      raise(PyExc_ValueError, std::string(name_) + ": the stride of axis " + std::to_string(n) +
                                  ", " + std::to_string(bytes) +
                                  " bytes, is no multiple of the element, " +
                                  std::to_string(buffer.itemsize) + " bytes");
    }
  }
  return true;
}

bool Array::take_brain_floats(Access access) {
  const nb::object dtype = object_.attr("dtype");
  if (!nb::str(dtype.attr("name")).equal(nb::str("bfloat16")) ||
      !nb::cast<bool>(dtype.attr("isnative"))) {
    if (access == Access::write && take_buffer(Access::read)) return false;
    raise(PyExc_TypeError, std::string(name_) + ": elements are " +
                               nb::cast<std::string>(nb::str(dtype)) +
                               ", a type that is not served");
  }
  bits_ = object_.attr("view")("uint16");
  if (!take_buffer(access)) return false;
  code_ = Code::brain_floats;
  return true;
}

void Array::take_rank(std::size_t axes) {
  if (axes > std::size_t(kMostAxes)) {
    raise(PyExc_ValueError, std::string(name_) + ": " + std::to_string(axes) +
                                " axes are more than " + std::to_string(kMostAxes));
  }
  rank_ = int(axes);
}

void Array::take_type(int code, int bits, int lanes) {
  using nb::dlpack::dtype_code;
  bits_each_ = bits;
  switch (lanes == 1 ? dtype_code(code) : dtype_code::Complex) {
    case dtype_code::Float:
      code_ = Code::floats;
      break;
    case dtype_code::Bfloat:
      code_ = Code::brain_floats;
      break;
    case dtype_code::Bool:
      code_ = Code::booleans;
      break;
    case dtype_code::Int:
      code_ = Code::integers;
      break;
    case dtype_code::UInt:
      code_ = Code::naturals;
      break;
    default:
      code_ = Code::other;
  }
}

bool Array::take_tensor(Access access) {
  const TensorType type = tensor_type(object_);
  kind_ = type.kind;
  if (kind_ != Kind::torch) return take_dlpack(access);
  refuse_gradient(name_, object_);
  // __dlpack__ of a tensor that would need a gradient, were the mode on, refuses; the table does
  // not. It does not look at the bit that negates either.
  refuse_negated(name_, object_);
  return type.table ? take_exchanged(*type.table) : take_dlpack(access);
}

bool Array::take_exchanged(const dlpack::ExchangeTable& table) {
  dlpack::Tensor tensor{};
  if (table.view_of(object_.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  if (!is_cpu(tensor.device_type)) return false;
  take_type(tensor.code, tensor.bits, tensor.lanes);
  take_rank(std::size_t(tensor.ndim));
  data_ = static_cast<char*>(tensor.data) + tensor.byte_offset;
  std::int64_t dense = 1;
  for (std::size_t n = std::size_t(rank_); n-- > 0;) {
    shape_[n] = tensor.shape[n];
    strides_[n] = tensor.strides ? tensor.strides[n] : dense;
    if (!tensor.strides) dense *= shape_[n];
  }
  // A shape without memory: fake tensors and the like, freed storage.
  return tensor.data || std::ranges::find(shape(), 0) != shape().end();
}

bool Array::take_dlpack(Access access) {
  if (access == Access::write && !writable(object_)) return false;
  const bool writing = access != Access::read;
  // The capsule itself is given on, which marks it as used: it serves once.
  const nb::object capsule = exported(object_, writing);
  if (!capsule.is_valid()) return PyObject_CheckBuffer(object_.ptr()) && take_buffer(access);
  pack_.emplace();
  if (writing) {
    nb::ndarray<> tensor;
    if (!nb::try_cast(capsule, tensor, false)) return false;
    pack_.emplace(tensor);
  } else if (!nb::try_cast(capsule, *pack_, false)) {
    return false;
  }
  if (!is_cpu(pack_->device_type())) return false;
  const nb::dlpack::dtype type = pack_->dtype();
  take_type(type.code, type.bits, type.lanes);
  take_rank(pack_->ndim());
  data_ = const_cast<void*>(pack_->data());
  for (std::size_t n = 0; n < std::size_t(rank_); ++n) {
    shape_[n] = std::int64_t(pack_->shape(n));
    strides_[n] = pack_->stride(n);
  }
  return true;
}

std::string Array::type_name() const {
  constexpr const char* kinds[] = {"int", "uint", "float", "bfloat", "bool", "other"};
  if (code_ == Code::other) {
    const nb::object dtype = nb::getattr(object_, "dtype", nb::none());
    if (!dtype.is_none()) return nb::cast<std::string>(nb::str(dtype));
    return format_.empty() ? "of another type" : "of the buffer format '" + format_ + "'";
  }
  const char* kind = kinds[std::size_t(code_)];
  return code_ == Code::booleans ? kind : kind + std::to_string(bits_each_);
}

DType Array::dtype(const char* wanted) const {
  if (code_ == Code::floats && bits_each_ == 64) return DType::f64;
  if (code_ == Code::floats && bits_each_ == 32) return DType::f32;
  if (code_ == Code::floats && bits_each_ == 16) return DType::f16;
  if (code_ == Code::brain_floats && bits_each_ == 16) return DType::bf16;
  if (code_ == Code::booleans && bits_each_ == 8) return DType::boolean;
  if (code_ == Code::integers && bits_each_ == 64) return DType::i64;
  raise(PyExc_TypeError, std::string(name_) + ": elements are " + type_name() + ", not " + wanted);
}

std::int64_t Array::integer(std::int64_t index) const {
  const char* at = static_cast<const char*>(data_) + index * stride(0) * bits_each_ / 8;
  const auto read = [this, at](auto number) {
    std::memcpy(&number, at, sizeof number);
    if (!std::in_range<std::int64_t>(number)) {
      raise(PyExc_ValueError,
            std::string(name_) + ": " + std::to_string(number) + " does not fit 64 bits");
    }
    return std::int64_t(number);
  };
  const bool is_signed = code_ == Code::integers;
  if (is_signed || code_ == Code::naturals) {
    if (bits_each_ == 64) return is_signed ? read(std::int64_t{}) : read(std::uint64_t{});
    if (bits_each_ == 32) return is_signed ? read(std::int32_t{}) : read(std::uint32_t{});
    if (bits_each_ == 16) return is_signed ? read(std::int16_t{}) : read(std::uint16_t{});
    if (bits_each_ == 8) return is_signed ? read(std::int8_t{}) : read(std::uint8_t{});
  }
  raise(PyExc_TypeError, std::string(name_) + ": elements are " + type_name() + ", not integers");
}

Tensor Array::view(std::span<const int> axes, const char* wanted) const {
  Tensor tensor{data_, dtype(wanted), {1, 1, 1, 1}, {}};
  for (std::size_t n = 0; n < axes.size(); ++n) {
    tensor.shape[std::size_t(axes[n])] = shape_[n];
    tensor.strides[std::size_t(axes[n])] = strides_[n];
  }
  return tensor;
}

}  // namespace regard::python
