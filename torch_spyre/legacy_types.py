"""torch.spyre.FloatTensor, FloatStorage and their like: the classes that CUDA keeps for old code.

PyTorch makes its own such classes in C++ for the CPU and CUDA only; these take the same constructor
arguments and answer isinstance() and Tensor.type() alike. torch.set_default_tensor_type() accepts
PyTorch's own classes only: use torch.set_default_dtype() and torch.set_default_device().
"""

from __future__ import annotations

import types
from typing import Any

import torch
from torch.storage import _LegacyStorage

_DTYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}
_STORAGE_DTYPES = {
    **_DTYPES,
    "ComplexDouble": torch.complex128,
    "ComplexFloat": torch.complex64,
}
__all__ = [f"{name}Tensor" for name in _DTYPES]
__all__ += [f"{name}Storage" for name in _STORAGE_DTYPES]


class _TensorType(type):
    """The type of the tensor classes: calling one makes a tensor, isinstance() looks at dtype."""

    dtype: torch.dtype
    layout: torch.layout
    is_cuda = False
    is_spyre = True

    @property
    def is_sparse(cls) -> bool:
        return cls.layout == torch.sparse_coo

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.is_spyre
            and instance.dtype == cls.dtype
            and instance.layout == cls.layout
        )

    def __call__(cls, *args: Any, device: Any = "spyre") -> torch.Tensor:
        if torch.device(device).type != "spyre":
            raise RuntimeError(
                f"legacy constructor expects device type: spyre but device type: "
                f"{torch.device(device).type} was passed"
            )
        options: dict[str, Any] = {"dtype": cls.dtype, "device": device}
        if cls.is_sparse:
            if len(args) > 1 and isinstance(args[0], torch.Tensor):
                return torch.sparse_coo_tensor(*args, **options)
            size = args[0] if args and not isinstance(args[0], int) else args
            return torch.sparse_coo_tensor(tuple(size) or (0,), **options)
        if not args:
            return torch.empty(0, **options)
        first = args[0]
        if isinstance(first, torch.Tensor):
            if not isinstance(first, cls):
                raise TypeError(
                    f"expected {cls.__name__} (got {first.type()}); convert it with .to()"
                )
            return first.detach()
        if isinstance(first, (torch.TypedStorage, torch.UntypedStorage)):
            return torch.empty(0, **options).set_(first)
        if isinstance(first, torch.Size) or all(isinstance(n, int) for n in args):
            return torch.empty(
                first if isinstance(first, torch.Size) else args, **options
            )
        return torch.tensor(first, **options)


def _tensor_type(name: str, layout: torch.layout, path: str) -> _TensorType:
    # Tensor.type(cls) reads the C name of the class, which is the one given here.
    made = _TensorType(f"{path}.{name}Tensor", (), {"__module__": path})
    made.__qualname__ = f"{name}Tensor"
    made.dtype, made.layout = _DTYPES[name], layout
    return made


def _storage_type(name: str) -> type[_LegacyStorage]:
    dtype = _STORAGE_DTYPES[name]
    body = {"__module__": "torch.spyre", "dtype": dtype, "_dtype": dtype}
    made = type(f"{name}Storage", (_LegacyStorage,), body)
    torch._storage_classes.add(made)
    return made


# torch.cuda.sparse holds the classes of sparse tensors and nothing else.
sparse = types.ModuleType("torch.spyre.sparse", "Classes of sparse COO tensors.")
for _name in _DTYPES:
    globals()[f"{_name}Tensor"] = _tensor_type(_name, torch.strided, "torch.spyre")
    if _name != "Bool":  # as torch.cuda.sparse
        setattr(
            sparse,
            f"{_name}Tensor",
            _tensor_type(_name, torch.sparse_coo, "torch.spyre.sparse"),
        )
for _name in _STORAGE_DTYPES:
    globals()[f"{_name}Storage"] = _storage_type(_name)
