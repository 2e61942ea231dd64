"""ONNX Runtime: operators that compute attention on its CPU provider, memory bound beforehand."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from problem import Call, NotServed, Problem

NAME = "ONNX Runtime"
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}
ONNX, MICROSOFT = ("", 23), ("com.microsoft", 1)


def version() -> str:
    """Of the package."""
    return onnxruntime.__version__


def one_node_model(problem: Problem, node: object, inputs: dict[str, np.ndarray],
                   out_shape: tuple[int, ...]) -> onnxruntime.InferenceSession:
    """A model of one node."""
    def value(name: str, array: np.ndarray) -> object:
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    out = helper.make_tensor_value_info("out", TYPES[problem.case.dtype], out_shape)
    graph = helper.make_graph([node], "attention", [value(*item) for item in inputs.items()], [out])
    opsets = [helper.make_opsetid(*opset) for opset in (ONNX, MICROSOFT)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = problem.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def call(problem: Problem, form: str, node: object, inputs: dict[str, np.ndarray]) -> Call:
    """A model with its memory bound; out has the layout of q."""
    shape = inputs["q"].shape
    model = one_node_model(problem, node, inputs, shape)
    out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, problem.q.dtype))
    binding = model.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    binding.bind_ortvalue_output("out", out)

    def answer(_: object) -> np.ndarray:
        case, array = problem.case, out.numpy()
        if len(shape) == 4:
            return array
        packed = array.reshape(case.batch, case.length, case.heads, case.head_dim)
        return packed.swapaxes(1, 2)

    return Call(form, lambda: model.run_with_iobinding(binding), answer)


def packed_inputs(problem: Problem) -> dict[str, np.ndarray]:
    """q, k and v as (B, S, H D)."""
    def packed(array: np.ndarray) -> np.ndarray:
        batch, _, length, _ = array.shape
        return np.ascontiguousarray(array.swapaxes(1, 2)).reshape(batch, length, -1)

    return {name: packed(array) for name, array in zip("qkv", problem.arrays)}


def grouped_query_attention(problem: Problem) -> Call:
    """Always causal; it also wants to know the lengths and where a cache would stand."""
    case = problem.case
    inputs = packed_inputs(problem) | {
        "lengths": np.full(case.batch, case.length - 1, np.int32),
        "total": np.array([case.length], np.int32)}
    node = helper.make_node(
        "GroupQueryAttention", ["q", "k", "v", "", "", "lengths", "total"],
        ["out", "present_key", "present_value"], domain=MICROSOFT[0], num_heads=case.heads,
        kv_num_heads=case.kv_heads)
    return call(problem, "GroupQueryAttention", node, inputs)


def prepare(problem: Problem) -> list[Call]:
    """The standard operator, and those of com.microsoft that fit; the quickest counts."""
    case = problem.case
    if case.dtype not in TYPES:
        raise NotServed(f"its CPU provider has no attention in {case.dtype}")
    attention = helper.make_node("Attention", ["q", "k", "v"], ["out"],
                                 is_causal=int(case.causal))
    calls = [call(problem, "Attention-23" + (", is_causal" if case.causal else ""), attention,
                  dict(zip("qkv", problem.arrays)))]
    if case.causal:
        calls.append(grouped_query_attention(problem))
    if case.heads == case.kv_heads and case.dtype == "f32":
        node = helper.make_node(
            "MultiHeadAttention", ["q", "k", "v"], ["out"], domain=MICROSOFT[0],
            num_heads=case.heads, unidirectional=int(case.causal))
        calls.append(call(problem, "MultiHeadAttention"
                          + (", unidirectional" if case.causal else ""), node,
                          packed_inputs(problem)))
    return calls
