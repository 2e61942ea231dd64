"""OpenVINO: the ScaledDotProductAttention operator, compiled for the CPU."""
import numpy as np
import openvino as ov
from openvino import opset13

from problem import STORAGE, Call, NotServed, Problem

NAME = "OpenVINO"
TYPES = {"f32": ov.Type.f32, "f16": ov.Type.f16, "bf16": ov.Type.bf16}


def version() -> str:
    """Of the package, without the build."""
    return ov.__version__.split("-")[0]


def compile_model(problem: Problem) -> ov.CompiledModel:
    """One operator, its input and its output."""
    case = problem.case
    core = ov.Core()
    if case.dtype not in TYPES:
        raise NotServed(f"its CPU plugin computes {case.dtype} in f32")
    offered = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if case.dtype != "f32" and {"bf16": "BF16", "f16": "FP16"}[case.dtype] not in offered:
        raise NotServed(f"its CPU plugin has no {case.dtype} on this CPU")
    parameters = [opset13.parameter(array.shape, TYPES[case.dtype]) for array in problem.arrays]
    heads = parameters[1:]
    if case.heads != case.kv_heads:
        heads = [opset13.reshape(opset13.broadcast(
            opset13.unsqueeze(parameter, 2),
            [case.batch, case.kv_heads, case.heads // case.kv_heads, case.length, case.head_dim],
            "BIDIRECTIONAL"), case.q_shape, False) for parameter in heads]
    node = opset13.scaled_dot_product_attention(parameters[0], *heads, causal=case.causal)
    return core.compile_model(ov.Model([node], parameters), "CPU", {
        "INFERENCE_PRECISION_HINT": TYPES[case.dtype], "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": problem.threads, "NUM_STREAMS": 1})


def prepare(problem: Problem) -> list[Call]:
    """One form."""
    case = problem.case
    request = compile_model(problem).create_infer_request()
    for index, array in enumerate(problem.arrays):
        tensor = ov.Tensor(array, list(array.shape), TYPES[case.dtype])  # the same memory
        request.set_input_tensor(index, tensor)

    def run() -> ov.Tensor:
        request.start_async()
        request.wait()
        return request.get_output_tensor(0)

    def stored(out: ov.Tensor) -> np.ndarray:
        return out.data.view(STORAGE[case.dtype])  # bf16 comes under another name

    return [Call("causal" if case.causal else "no mask", run, stored)]
