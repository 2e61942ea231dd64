#include "array.h"

#include <cstring>

#include "libraries.h"

namespace regard::python {
namespace {

constexpr int kCpu = 1;     // DLPack's kDLCPU
constexpr int kPinned = 3;  // and kDLCUDAHost: memory of the CPU too

bool is_numpy(nb::handle object) {
  return PyObject_TypeCheck(object.ptr(), numpy_array_type()) != 0;
}

/// Whether the type of `object` comes from the package torch.
bool is_torch(nb::handle object) {
  const nb::module_ modules = nb::module_::import_("sys");
  const nb::object torch = modules.attr("modules").attr("get")("torch");
  return !torch.is_none() && nb::isinstance(object, torch.attr("Tensor"));
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
    kind_ = is_torch(object) ? Kind::torch : Kind::other;
    if (take_dlpack(access)) return;
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

bool Array::take_buffer(Access access) {
  const nb::handle source = bits_.is_valid() ? bits_ : object_;
  Py_buffer& buffer = buffer_.emplace();
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (access == Access::write ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(source.ptr(), &buffer, flags) != 0) {
    PyErr_Clear();
    buffer_.reset();
    return false;
  }
  if (buffer.ndim > kMostAxes) {
    raise(PyExc_ValueError, std::string(name_) + ": " + std::to_string(buffer.ndim) + " axes");
  }
  const char* format = buffer.format ? buffer.format : "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const bool one = std::strlen(format) == 1;
  if (one && std::strchr("efd", *format)) code_ = Code::float_;
  if (one && std::strchr("bhilqn", *format)) code_ = Code::signed_;
  if (one && std::strchr("BHILQN", *format)) code_ = Code::unsigned_;
  if (one && *format == '?') code_ = Code::boolean;
  bits_each_ = int(8 * buffer.itemsize);
  data_ = buffer.buf;
  rank_ = buffer.ndim;
  for (int n = 0; n < rank_; ++n) {
    shape_[std::size_t(n)] = buffer.shape[n];
    const Py_ssize_t bytes = buffer.strides[n];
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
  if (!nb::str(dtype.attr("name")).equal(nb::str("bfloat16"))) {
    if (access == Access::write && take_buffer(Access::read)) return false;
    raise(PyExc_TypeError, std::string(name_) + ": elements are " +
                               nb::cast<std::string>(nb::str(dtype)) +
                               ", not float64, float32, float16 or bfloat16");
  }
  bits_ = object_.attr("view")("uint16");
  if (!take_buffer(access)) return false;
  code_ = Code::bfloat;
  return true;
}

template <class Source>
void Array::read_dlpack(const Source& tensor) {
  const nb::dlpack::dtype type = tensor.dtype();
  using nb::dlpack::dtype_code;
  switch (type.lanes == 1 ? dtype_code(type.code) : dtype_code::Complex) {
    case dtype_code::Float:
      code_ = Code::float_;
      break;
    case dtype_code::Bfloat:
      code_ = Code::bfloat;
      break;
    case dtype_code::Bool:
      code_ = Code::boolean;
      break;
    case dtype_code::Int:
      code_ = Code::signed_;
      break;
    case dtype_code::UInt:
      code_ = Code::unsigned_;
      break;
    default:
      code_ = Code::other;
      break;
  }
  bits_each_ = type.bits;
  data_ = const_cast<void*>(static_cast<const void*>(tensor.data()));
  rank_ = int(tensor.ndim());
  for (int n = 0; n < rank_; ++n) {
    shape_[std::size_t(n)] = std::int64_t(tensor.shape(std::size_t(n)));
    strides_[std::size_t(n)] = tensor.stride(std::size_t(n));
  }
}

bool Array::take_dlpack(Access access) {
  pack_.emplace();
  if (access == Access::write) {
    nb::ndarray<> tensor;
    if (!nb::try_cast(object_, tensor, false)) return false;
    pack_.emplace(tensor);
  } else if (!nb::try_cast(object_, *pack_, false)) {
    return false;
  }
  if (pack_->device_type() != kCpu && pack_->device_type() != kPinned) return false;
  if (pack_->ndim() > std::size_t(kMostAxes)) {
    raise(PyExc_ValueError, std::string(name_) + ": " + std::to_string(pack_->ndim()) + " axes");
  }
  read_dlpack(*pack_);
  return true;
}

std::string Array::type_name() const {
  constexpr const char* kinds[] = {"int", "uint", "float", "bfloat", "bool", "other"};
  if (code_ == Code::other) return "of another type";
  const char* kind = kinds[std::size_t(code_)];
  return code_ == Code::boolean ? kind : kind + std::to_string(bits_each_);
}

DType Array::dtype() const {
  if (code_ == Code::float_ && bits_each_ == 64) return DType::f64;
  if (code_ == Code::float_ && bits_each_ == 32) return DType::f32;
  if (code_ == Code::float_ && bits_each_ == 16) return DType::f16;
  if (code_ == Code::bfloat && bits_each_ == 16) return DType::bf16;
  if (code_ == Code::boolean && bits_each_ == 8) return DType::boolean;
  if (code_ == Code::signed_ && bits_each_ == 64) return DType::i64;
  raise(PyExc_TypeError, std::string(name_) + ": elements are " + type_name() +
                             ", not float64, float32, float16 or bfloat16");
}

std::int64_t Array::integer(std::int64_t index) const {
  const char* at = static_cast<const char*>(data_) + index * stride(0) * bits_each_ / 8;
  const auto read = [at](auto number) {
    std::memcpy(&number, at, sizeof number);
    return std::int64_t(number);
  };
  const bool is_signed = code_ == Code::signed_;
  if (is_signed || code_ == Code::unsigned_) {
    if (bits_each_ == 64) return read(std::int64_t{});
    if (bits_each_ == 32) return is_signed ? read(std::int32_t{}) : read(std::uint32_t{});
    if (bits_each_ == 16) return is_signed ? read(std::int16_t{}) : read(std::uint16_t{});
    if (bits_each_ == 8) return is_signed ? read(std::int8_t{}) : read(std::uint8_t{});
  }
  raise(PyExc_TypeError, std::string(name_) + ": elements are " + type_name() + ", not integers");
}

Tensor Array::view(std::span<const int> axes) const {
  Tensor tensor{data_, dtype(), {1, 1, 1, 1}, {}};
  for (std::size_t n = 0; n < axes.size(); ++n) {
    tensor.shape[std::size_t(axes[n])] = shape_[n];
    tensor.strides[std::size_t(axes[n])] = strides_[n];
  }
  return tensor;
}

nb::object make_array(const char* name, const Array& like, std::span<const std::int64_t> shape,
                      DType dtype, Array& array) {
  nb::object made = empty_array(like.kind(), shape, dtype);
  array.take(name, made, Array::Access::write);
  return made;
}

}  // namespace regard::python
