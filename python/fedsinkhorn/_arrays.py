"""Arrays of others as arrays that the library reads in place: float32 or float64, C order, aligned. Matrices of costs
may also be in Fortran order.

NumPy arrays that are so already are not copied, nor are those of other libraries in the memory of the host that offer
DLPack or `__array__`. Matrices of costs on a CUDA device stay there, if the library can use it. Everything else is
converted, which takes memory: other orders and strides, integers, what lies on a device. What cannot be converted
without guessing is refused by an InputError that names the argument.
"""
import contextlib
import functools

import numpy as np

from . import _core
from ._core import InputError

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Of DLPack: kDLCPU and kDLCUDAHost, kDLCUDA, and CUDA's default stream, for which the owner of an array makes it ready.
_HOSTS = (1, 3)
_CUDA = 2
_DEFAULT_STREAM = 1


def is_text(value, *texts):
    """Whether it is one of these texts. Arrays, which compare element by element, are not."""
    return isinstance(value, str) and value in texts


@contextlib.contextmanager
def errors_named(names):
    """Errors name a caller's arguments; names: those by ours."""
    try:
        yield
    except InputError as error:
        culprit, colon, rest = str(error).partition(":")
        raise InputError(names.get(culprit, culprit) + colon + rest) from None


def _device_kind(value):
    """DLPack's number of it; None for what does not say."""
    try:
        return int(value.__dlpack_device__()[0])
    except Exception:  # whatever others throw, such as PyTorch of its meta tensors
        return None


def _on_host(value):
    """What lies on a device is copied from it."""
    if _device_kind(value) in (None, *_HOSTS):
        return value
    if hasattr(value, "cpu"):  # PyTorch
        return value.detach().cpu()
    if hasattr(value, "get"):  # CuPy
        return value.get()
    return value  # JAX copies by itself


def _from_others(name, value):
    if hasattr(value, "detach") and hasattr(value, "numpy"):  # PyTorch: values alone, whatever autograd knows of them
        value = value.detach()
        if value.is_floating_point() and value.element_size() < 4:  # bfloat16 is unknown to NumPy
            value = value.float()
    value = _on_host(value)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def _ready_there(value):
    """On its device in C order, as float32 or float64; None for what only the host can convert, or refuse."""
    if hasattr(value, "detach") and hasattr(value, "is_contiguous"):  # PyTorch
        value = value.detach()
        if value.is_complex():
            return None
        is_ready = value.is_floating_point() and value.element_size() in (4, 8)
        return (value if is_ready else value.double()).contiguous()
    if hasattr(value, "get") and hasattr(value, "flags"):  # CuPy
        if value.dtype.kind not in "fiub":
            return None
        value = value if value.dtype in _FLOATS else value.astype(np.float64)
        return value if value.flags.c_contiguous else value.copy(order="C")
    return value


@functools.lru_cache(maxsize=None)
def _has_devices():
    return not _core.why_no_device()


def on_device(name, value):
    """A matrix on a CUDA device, for the library to read there; None if it lies elsewhere, or must be copied."""
    if _device_kind(value) != _CUDA or not _has_devices():
        return None
    ready = _ready_there(value)
    if ready is None:
        return None
    try:
        return _core.DeviceArray(ready.__dlpack__(stream=_DEFAULT_STREAM), name)
    except InputError:  # such as JAX's integers, or three dimensions: as_numbers converts or refuses them
        return None


def written_on_device(name, value):
    """A matrix on a CUDA device, for the library to write to; nothing of it may be a copy."""
    if _device_kind(value) != _CUDA:
        raise InputError(f"{name}: a {type(value).__name__} was given; give an array of NumPy, or one on the GPU")
    if hasattr(value, "detach"):
        value = value.detach()
    return _core.DeviceArray(value.__dlpack__(stream=_DEFAULT_STREAM), name)


def as_numbers(name, value, dimensions, float64=False, fortran=False):
    """An array of these numbers of dimensions (a tuple of those allowed); float64: not float32; fortran: that order
    will do as well."""
    if type(value) is not np.ndarray:
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise InputError(f"{name}: is masked; give all numbers")
        if value is None or isinstance(value, (str, bytes)) or hasattr(value, "toarray"):
            kind = "a sparse matrix" if hasattr(value, "toarray") else f"a {type(value).__name__}"
            raise InputError(f"{name}: {kind} was given; give an array of numbers")
        try:
            value = _from_others(name, value)
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:  # whatever others throw who cannot make an array
            raise InputError(f"{name}: is no array of numbers ({error})") from error
    if value.ndim not in dimensions:
        right = " or ".join(str(count) for count in dimensions)
        raise InputError(f"{name}: has {value.ndim} dimensions; give {right}")
    if value.dtype not in _FLOATS or (float64 and value.dtype != np.float64):
        if value.dtype.kind not in "fiub" or value.dtype.itemsize > 16:
            raise InputError(f"{name}: has the type {value.dtype}; give real numbers")
        with np.errstate(over="ignore"):
            value = value.astype(np.float64)
    in_order = value.flags.c_contiguous or (fortran and value.flags.f_contiguous)
    if not (in_order and value.flags.aligned):
        value = np.require(value, requirements=("C", "A"))
    return value


def as_masses(name, value, row=False):
    """A vector as float64; a matrix of one column is one, and with `row` that of one row, too."""
    numbers = as_numbers(name, value, (1, 2), float64=True)
    if numbers.ndim == 2 and numbers.shape[1] != 1 and not (row and numbers.shape[0] == 1):
        raise InputError(f"{name}: has 2 dimensions; give 1, or a single column{' or row' if row else ''}")
    return numbers.reshape(-1)
