"""Arrays of others as arrays that the library reads in place: float32 or float64, C order, aligned.

NumPy arrays that are so already are not copied, nor are those of other libraries in the memory of the host that offer
DLPack or `__array__`. Everything else is converted, which takes memory: Fortran order and strides, integers, what lies
on a device. What cannot be converted without guessing is refused by an InputError that names the argument.
"""
import numpy as np

from ._core import InputError

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_HOSTS = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost


def _on_host(value):
    """What lies on a device is copied from it."""
    device = getattr(value, "__dlpack_device__", None)
    if device is None or device()[0] in _HOSTS:
        return value
    if hasattr(value, "cpu"):  # PyTorch
        return value.detach().cpu()
    if hasattr(value, "get"):  # CuPy
        return value.get()
    return value  # JAX copies by itself


def _from_others(name, value):
    if hasattr(value, "detach") and hasattr(value, "numpy"):  # PyTorch: values alone, whatever autograd knows of them
        value = value.detach()
    value = _on_host(value)
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    return np.from_dlpack(value)


def as_numbers(name, value, dimensions, float64=False):
    """An array of these numbers of dimensions (a tuple of those allowed); float64: not float32."""
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
    if not (value.flags.c_contiguous and value.flags.aligned):
        value = np.require(value, requirements=("C", "A"))
    return value
