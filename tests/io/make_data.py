"""Writes the files in data/: python3 make_data.py, with numpy, ml_dtypes and safetensors.

Element i (in C order) of every array is i / 2 - 1, exact in all four float types; whole numbers
are those cut towards 0, and booleans are false at 0 alone.
"""
import pathlib

import ml_dtypes
import numpy as np
import safetensors.numpy

data = pathlib.Path(__file__).parent / "data"
types = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "bool": np.bool_, "i64": np.int64}


def ramp(shape, dtype=np.float32):
    return (np.arange(np.prod(shape, dtype=int)) / 2 - 1).reshape(shape).astype(dtype)


for name, dtype in types.items():
    np.save(data / f"c_{name}.npy", ramp((2, 3, 4), dtype))
    np.save(data / f"fortran_{name}.npy", np.asfortranarray(ramp((2, 3, 4), dtype)))
np.save(data / "rank0.npy", ramp(()))
np.save(data / "rank1.npy", ramp((5,)))
np.save(data / "empty.npy", ramp((2, 0, 3)))
for version in (2, 3):
    with open(data / f"version{version}.npy", "wb") as file:
        np.lib.format.write_array(file, ramp((2, 3)), version=(version, 0))

every_type = {name: ramp((2, 3), dtype) for name, dtype in types.items()}
np.savez(data / "stored.npz", **every_type)
np.savez_compressed(data / "deflated.npz", **every_type, zeros=np.zeros((64, 64), np.float32),
                    fortran=np.asfortranarray(ramp((2, 3))), scalar=ramp(()), empty=ramp((0, 4)))
np.savez(data / "mixed.npz", bytes=np.zeros(2, np.uint8), x=ramp((2, 3)),
         words=np.array(["a", "bc"]),
         pairs=np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
np.savez(data / "others.npz", ids=np.arange(3, dtype=np.int32), bytes=np.zeros(2, np.uint8))

tensors = {**every_type, "scalar": ramp(()), "empty": ramp((0, 4)),
           "ids": np.arange(3, dtype=np.int32)}
safetensors.numpy.save_file(tensors, data / "all.safetensors", metadata={"made by": "safetensors"})
safetensors.numpy.save_file({"ids": np.arange(3, dtype=np.int32)}, data / "others.safetensors")
