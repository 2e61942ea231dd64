"""OpenVINO: the ScaledDotProductAttention operator, compiled for the CPU."""
import numpy as np
import openvino as ov
from openvino import opset13

from problem import STORAGE, Call, Case, NotServed, Problem

NAME = "OpenVINO"
TYPES = {"f32": ov.Type.f32, "f16": ov.Type.f16, "bf16": ov.Type.bf16}


def version() -> str:
    """Of the package, without the build."""
    return ov.__version__.split("-")[0]


def check_served(dtype: str) -> None:
    """Whether the plugin computes in the type itself."""
    if dtype not in TYPES:
        raise NotServed(f"its CPU plugin computes {dtype} in f32")
    offered = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if dtype != "f32" and {"bf16": "BF16", "f16": "FP16"}[dtype] not in offered:
        raise NotServed(f"its CPU plugin has no {dtype} on this CPU")


def repeated(heads: ov.Node, case: Case) -> ov.Node:
    """Each key head once for every query head that reads it, as part of the model."""
    group = case.heads // case.kv_heads
    wide = [case.batch, case.kv_heads, group, case.length, case.head_dim]
    return opset13.reshape(opset13.broadcast(opset13.unsqueeze(heads, 2), wide, "BIDIRECTIONAL"),
                           case.q_shape, False)


def compile_model(problem: Problem, arrays: list[np.ndarray]) -> ov.CompiledModel:
    """One operator, its input and its output."""
    case = problem.case
    parameters = [opset13.parameter(array.shape, TYPES[case.dtype]) for array in arrays]
    heads = [parameter if array.shape == case.q_shape else repeated(parameter, case)
             for parameter, array in zip(parameters, arrays)]
    node = opset13.scaled_dot_product_attention(*heads, causal=case.causal)
    return ov.Core().compile_model(ov.Model([node], parameters), "CPU", {
        "INFERENCE_PRECISION_HINT": TYPES[case.dtype], "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": problem.threads, "NUM_STREAMS": 1})


def call(problem: Problem, form: str, arrays: list[np.ndarray]) -> Call:
    """A compiled model with its memory bound."""
    case = problem.case
    request = compile_model(problem, arrays).create_infer_request()
    for index, array in enumerate(arrays):
        tensor = ov.Tensor(array, list(array.shape), TYPES[case.dtype])  # the same memory
        request.set_input_tensor(index, tensor)

    def run() -> ov.Tensor:
        request.start_async()
        request.wait()
        return request.get_output_tensor(0)

    def stored(out: ov.Tensor) -> np.ndarray:
        return out.data.view(STORAGE[case.dtype])  # bf16 comes under another name

    return Call(("causal" if case.causal else "no mask") + form, run, stored, memory=arrays)


def prepare(problem: Problem) -> list[Call]:
    """Heads that are shared are repeated by the model or beforehand."""
    case = problem.case
    check_served(case.dtype)
    if case.heads == case.kv_heads:
        return [call(problem, "", list(problem.arrays))]
    group = case.heads // case.kv_heads
    wide = [problem.q, *(np.repeat(array, group, axis=1) for array in problem.arrays[1:])]
    return [call(problem, ", heads repeated by the model", list(problem.arrays)),
            call(problem, ", heads repeated beforehand", wide)]
