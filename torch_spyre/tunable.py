"""Tuned products: finds the fastest way of computing mm, addmm, bmm and baddbmm on this host.

Names, result files and argument forms are those of torch.cuda.tunable. With enable(), a product of
a (dtype, layout, sizes) that has no result yet is computed in every way there is (oneDNN, BLAS on
one thread, divided over rows, columns or terms, operands packed or widened), and the fastest way
whose result is close enough to the default one is kept, and written to get_filename(). It is
measured where it runs: get_results() waits for that. Files of another machine or version are
refused with a warning.

Environment: SPYRE_TUNABLEOP_* as PyTorch's PYTORCH_TUNABLEOP_*. A variable that is set wins over
the functions here.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch

from torch_spyre import _C, __version__

__all__ = [
    "enable",
    "get_filename",
    "get_max_tuning_duration",
    "get_max_tuning_iterations",
    "get_results",
    "get_rotating_buffer_size",
    "get_validators",
    "is_enabled",
    "mgpu_tune_gemm_in_file",
    "read_file",
    "record_untuned_enable",
    "record_untuned_is_enabled",
    "set_filename",
    "set_max_tuning_duration",
    "set_max_tuning_iterations",
    "set_numerical_check_tolerances",
    "set_rotating_buffer_size",
    "tune_gemm_in_file",
    "tuning_enable",
    "tuning_is_enabled",
    "write_file",
    "write_file_on_exit",
]

_MIB = 1 << 20
# Settings that the environment fixed; functions do not change them.
_fixed: set[str] = set()


def _checked(value: Any, kind: type, function: str) -> Any:
    wrong_bool = kind is not bool and isinstance(value, bool)
    if not isinstance(value, kind) or wrong_bool:
        raise TypeError(
            f"{function} expects {kind.__name__}, but got {type(value).__name__}"
        )
    return value


def _set(name: str, value: Any) -> None:
    _read_environment()
    if name not in _fixed:
        _C.tunable_set(name, value)


def _get(name: str) -> Any:
    _read_environment()
    return _C.tunable_settings()[name]


def _with_ordinal(filename: str, ordinal: int) -> str:
    """The card's number at %d, else before the suffix: results.csv -> results0.csv."""
    if "%d" in filename:
        return filename.replace("%d", str(ordinal))
    stem, suffix = os.path.splitext(filename)
    return f"{stem}{ordinal}{suffix}"


def enable(val: bool = True) -> None:
    """Switches tuned products on or off; off costs nothing."""
    _checked(val, bool, "enable()")
    if val and not get_filename():
        set_filename("tunableop_results.csv", insert_device_ordinal=True)
    if "enabled" not in _fixed:
        _C.tunable_enable(val)


def is_enabled() -> bool:
    """Whether products run the way that was found fastest."""
    return _C.tunable_is_enabled()


def tuning_enable(val: bool = True) -> None:
    """Whether a product without a result is measured (on by default)."""
    _set("tuning", _checked(val, bool, "tuning_enable()"))


def tuning_is_enabled() -> bool:
    """Whether a product without a result is measured."""
    return _get("tuning")


def record_untuned_enable(val: bool = True) -> None:
    """Whether a product without a result is written to the untuned file, for tune_gemm_in_file().

    Products are recorded while they are not tuned: call tuning_enable(False).
    """
    _set("record_untuned", _checked(val, bool, "record_untuned_enable()"))


def record_untuned_is_enabled() -> bool:
    """Whether products without a result are written to the untuned file."""
    return _get("record_untuned")


def set_max_tuning_duration(duration: int) -> None:
    """Milliseconds spent on one way of computing a product; it runs once at least."""
    duration = _checked(duration, int, "set_max_tuning_duration()")
    _set("max_tuning_ms", max(duration, 0))


def get_max_tuning_duration() -> int:
    """Milliseconds spent on one way of computing a product (30)."""
    return _get("max_tuning_ms")


def set_max_tuning_iterations(iterations: int) -> None:
    """Runs of one way of computing a product; the smaller of this and the duration counts."""
    iterations = _checked(iterations, int, "set_max_tuning_iterations()")
    _set("max_tuning_iterations", max(iterations, 0))


def get_max_tuning_iterations() -> int:
    """Runs of one way of computing a product (100)."""
    return _get("max_tuning_iterations")


def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
    """The file that results are read from before the next product, and written to.

    Args:
        insert_device_ordinal: put the current card's number into the name.
    """
    _checked(filename, str, "set_filename()")
    _checked(insert_device_ordinal, bool, "set_filename()")
    if insert_device_ordinal:
        filename = _with_ordinal(filename, _C.current_device())
    _set("filename", filename)


def get_filename() -> str:
    """The results file; "" before enable() or set_filename()."""
    return _get("filename")


def _wait_for_products() -> None:
    if _C.is_initialized():
        for index in range(_C.device_count()):
            _C.synchronize_device(index)


def get_results() -> tuple[tuple[str, str, str, float], ...]:
    """(operator, parameters, solution, milliseconds) of every result; waits for the cards."""
    _wait_for_products()
    return _C.tunable_results()


def get_validators() -> tuple[tuple[str, str], ...]:
    """(name, value) of all that results depend on: versions, processor, threads."""
    return _C.tunable_validators()


def read_file(filename: str | None = None) -> bool:
    """Adds the results of a file (None: get_filename()).

    Returns:
        False, with a warning that says why, when the file cannot be read or is not for this
        machine and these versions; nothing of it is used then.
    """
    refusal = _C.tunable_read_file(get_filename() if filename is None else filename)
    if refusal:
        warnings.warn(f"torch.spyre.tunable: {refusal}", stacklevel=2)
    return not refusal


def write_file(filename: str | None = None) -> bool:
    """Writes all results to a file (None: get_filename()), which is replaced at once.

    Returns:
        False, with a warning, when the file cannot be written.
    """
    _wait_for_products()
    failure = _C.tunable_write_file(get_filename() if filename is None else filename)
    if failure:
        warnings.warn(f"torch.spyre.tunable: {failure}", stacklevel=2)
    return not failure


def write_file_on_exit(val: bool) -> None:
    """Whether results are written to get_filename() by themselves: each as soon as it is found."""
    _set("write_results", _checked(val, bool, "write_file_on_exit()"))


def set_rotating_buffer_size(buffer_size: int) -> None:
    """MB that copies of a product's operands fill while it is measured, so that caches are cold.

    0: one copy; negative: the size of the host's last cache.
    """
    size = _checked(buffer_size, int, "set_rotating_buffer_size()")
    _set("rotating_bytes", size * _MIB if size >= 0 else -1)


def get_rotating_buffer_size() -> int:
    """KB that copies of a product's operands fill while it is measured."""
    return _get("rotating_bytes") // 1024


def set_numerical_check_tolerances(
    enable: bool, atol: float = 1e-5, rtol: float = 1e-5
) -> None:
    """How close a result must be to the default one.

    By default it is as close as torch.testing asks for the dtype, relative to the largest element.

    Args:
        enable: False accepts every result.
        atol: absolute tolerance.
        rtol: relative tolerance.
    """
    _checked(enable, bool, "set_numerical_check_tolerances()")
    if enable:
        _set("tolerances", (float(atol), float(rtol)))
    _set("check_numerics", enable)


def tune_gemm_in_file(filename: str) -> None:
    """Tunes every product of an untuned (or results) file on the current card."""
    from torch_spyre.offline_tuning import tune_lines

    if not is_enabled():
        raise AssertionError("TunableOp is not enabled: call enable() first")
    if not tuning_is_enabled():
        raise AssertionError("Tuning is not enabled: call tuning_enable() first")
    with open(filename, encoding="utf-8") as file:
        tune_lines(file, torch.device("spyre", _C.current_device()))


def mgpu_tune_gemm_in_file(filename_pattern: str, num_gpus: int) -> None:
    """Tunes the products of all matching files, shared out over `num_gpus` cards.

    All results are collected in a file named get_filename() with "_full0" for the card's number,
    and copied for each further card. See torch.cuda.tunable.mgpu_tune_gemm_in_file.
    """
    from torch_spyre.offline_tuning import tune_files

    tune_files(filename_pattern, num_gpus)


def _own_file(text: str) -> str:
    return _with_ordinal(text, _C.current_device())


_ENVIRONMENT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "SPYRE_TUNABLEOP_TUNING": ("tuning", lambda text: text != "0"),
    "SPYRE_TUNABLEOP_RECORD_UNTUNED": ("record_untuned", lambda text: text == "1"),
    "SPYRE_TUNABLEOP_VERBOSE": ("verbose", lambda text: text != "0"),
    "SPYRE_TUNABLEOP_MAX_TUNING_DURATION_MS": ("max_tuning_ms", int),
    "SPYRE_TUNABLEOP_MAX_TUNING_ITERATIONS": ("max_tuning_iterations", int),
    "SPYRE_TUNABLEOP_MAX_WARMUP_DURATION_MS": ("max_warmup_ms", int),
    "SPYRE_TUNABLEOP_MAX_WARMUP_ITERATIONS": ("max_warmup_iterations", int),
    "SPYRE_TUNABLEOP_ROTATING_BUFFER_SIZE": (
        "rotating_bytes",
        lambda text: int(text) * _MIB,
    ),
    "SPYRE_TUNABLEOP_FILENAME": ("filename", _own_file),
    "SPYRE_TUNABLEOP_UNTUNED_FILENAME": ("untuned_filename", _own_file),
    "SPYRE_TUNABLEOP_NUMERICAL_CHECK": ("check_numerics", lambda text: text != "0"),
}


@functools.cache
def _read_environment() -> None:
    """Applies SPYRE_TUNABLEOP_*, once.

    Raises:
        ValueError: names the variable that is not valid.
    """
    given = _C.tunable_environment()
    for variable, (setting, parse) in _ENVIRONMENT.items():
        if variable not in given:
            continue
        text = given[variable]
        try:
            if setting == "check_numerics" and "_" in text:  # atol_rtol, as PyTorch's
                atol, rtol = text.split("_")
                _C.tunable_set("tolerances", (float(atol), float(rtol)))
                _fixed.add("tolerances")
            _C.tunable_set(setting, parse(text))
        except ValueError as error:
            raise ValueError(f"{variable}='{text}' is not valid: {error}") from None
        _fixed.add(setting)


_C.tunable_set_package_version(__version__)
if _C.tunable_environment().get("SPYRE_TUNABLEOP_ENABLED") == "1":
    enable(True)
    _fixed.add("enabled")
