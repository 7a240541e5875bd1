"""The calls of shmem4py, with its names and its order of arguments, made by those of this module."""

import math
import operator
from typing import Any, Optional

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import _arrays, _core, _start
from .. import init as _init
from .._arrays import DType, Shape, block_of, fill, new, sized
from .._needs import LOCAL_SOURCE, WRITABLE
from ._objects import THREAD, Ctx, _CData

Array = NDArray[Any]


def init() -> None:
    """Begins the library."""
    _init()


def init_thread(requested: int = THREAD.MULTIPLE) -> THREAD:
    """Begins the library with a level of threads."""
    return THREAD(_init(requested))


def query_thread() -> THREAD:
    """The level of threads."""
    return THREAD(_start.query_thread())


def _getbuffer(array: Any, readonly: bool = False) -> "tuple[_CData, int, str]":
    address, count, _, stride, code, _, _ = _core.inspect(array, LOCAL_SOURCE if readonly else WRITABLE, "_getbuffer", "array")
    if stride != 1:
        raise ValueError("_getbuffer: the elements do not lie together")
    names = ("signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long", "float",
             "double", "long double", "float _Complex", "double _Complex")
    return _CData(address), count, names[code]


def alloc(count: int, size: int = 1, align: Optional[int] = None, hints: Optional[int] = None,
          clear: bool = True) -> memoryview:
    """Symmetric memory of count elements of size bytes each."""
    made: Any = new(count * size, np.uint8, "C", clear, align, int(hints or 0))
    return memoryview(made)


def free(mem: Any) -> None:
    """Gives memory back, of an array or of alloc."""
    block = block_of(mem)
    if block is None or block.number not in _arrays._heap.blocks:
        raise KeyError("free: this memory is not symmetric, or has been freed")
    _arrays.free(mem)


def fromalloc(mem: memoryview, shape: Optional[Shape] = None, dtype: DType = None, order: str = "C") -> Array:
    """An array in memory of alloc."""
    kind = sized(np.uint8 if dtype is None else dtype)
    dimensions: Any = (len(mem) // kind.itemsize,) if shape is None else shape
    if math.prod(np.atleast_1d(dimensions).tolist()) * kind.itemsize > len(mem):
        raise ValueError(f"fromalloc: {dimensions} elements of {kind} are more than {len(mem)} bytes")
    return np.ndarray(dimensions, kind, np.asarray(mem), order="F" if order == "F" else "C")


def new_array(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, align: Optional[int] = None,
              hints: Optional[int] = None, clear: bool = True) -> Array:
    """A symmetric array."""
    return new(shape, dtype, order, clear, align, int(hints or 0))


def array(obj: Any, dtype: DType = None, *, order: str = "K", align: Optional[int] = None,
          hints: Optional[int] = None) -> Array:
    """A symmetric copy."""
    given = np.array(obj, dtype=dtype, copy=True, order=order)  # type: ignore[call-overload]
    kind = "F" if given.flags.f_contiguous and not given.flags.c_contiguous else "C"
    return fill(new(given.shape, given.dtype, kind, False, align, int(hints or 0)), given)


def empty(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, align: Optional[int] = None,
          hints: Optional[int] = None) -> Array:
    """A symmetric array with any contents."""
    return new(shape, dtype, order, False, align, int(hints or 0))


def zeros(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, align: Optional[int] = None,
          hints: Optional[int] = None) -> Array:
    """A symmetric array of zeros."""
    return new(shape, dtype, order, True, align, int(hints or 0))


def ones(shape: Shape, dtype: DTypeLike = float, order: str = "C", *, align: Optional[int] = None,
         hints: Optional[int] = None) -> Array:
    """A symmetric array of ones."""
    return full(shape, 1, dtype, order, align=align, hints=hints)


def full(shape: Shape, fill_value: Any, dtype: DType = None, order: str = "C", *, align: Optional[int] = None,
         hints: Optional[int] = None) -> Array:
    """A symmetric array of one value."""
    kind = np.asarray(fill_value).dtype if dtype is None else sized(dtype, fill_value)
    made = new(shape, kind, order, False, align, int(hints or 0))
    return fill(made, np.asarray(fill_value).astype(made.dtype))


del_array = del_signal = del_lock = free


def new_signal() -> Array:
    """A signal."""
    return zeros(1, dtype=np.uint64)


def new_lock() -> Array:
    """A lock."""
    return zeros(1, dtype=np.int64)


def ptr(target: Array, pe: int) -> Optional[Array]:
    """The array of a PE, if it is in reach."""
    return _arrays.ptr(target, pe)


def _flat(array: Any) -> Array:
    """An array as one line, in the order of its memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected a NumPy array, and this is {type(array).__name__}")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError("expected a contiguous array")
    return array.reshape(-1, order="C" if array.flags.c_contiguous else "F")


def _cut(target: Any, source: Any, size: Optional[int]) -> "tuple[Array, Array]":
    """Both as lines of size elements."""
    to, of = _flat(target), _flat(source)
    number = min(to.size, of.size) if size is None else _size(size, min(to.size, of.size))
    return to[:number], of[:number]


def _size(size: int, most: int) -> int:
    """A number of elements, which the arrays have."""
    if not 0 <= operator.index(size) <= most:
        raise ValueError(f"size is {size}; with these arrays it is a number from 0 to {most}")
    return size


def _fitting(to: Array, of: Array, tst: int, sst: int) -> int:
    """The most elements that both have with these strides, which are those that shmem4py moves."""
    return min(-(-to.size // tst), -(-of.size // sst)) if min(tst, sst) > 0 else 0


def put(target: Array, source: Array, pe: int, size: Optional[int] = None, ctx: Optional[Ctx] = None) -> None:
    """put of size elements."""
    to, of = _cut(target, source, size)
    _core.put(to, of, pe, _known(ctx))


def get(target: Array, source: Array, pe: int, size: Optional[int] = None, ctx: Optional[Ctx] = None) -> None:
    """get of size elements."""
    to, of = _cut(target, source, size)
    _core.get(to, of, pe, _known(ctx))


def put_nbi(target: Array, source: Array, pe: int, size: Optional[int] = None, ctx: Optional[Ctx] = None) -> None:
    """put_nbi of size elements."""
    to, of = _cut(target, source, size)
    _core.put_nbi(to, of, pe, _known(ctx))


def get_nbi(target: Array, source: Array, pe: int, size: Optional[int] = None, ctx: Optional[Ctx] = None) -> None:
    """get_nbi of size elements."""
    to, of = _cut(target, source, size)
    _core.get_nbi(to, of, pe, _known(ctx))


def iput(target: Array, source: Array, pe: int, tst: int = 1, sst: int = 1, size: Optional[int] = None,
         ctx: Optional[Ctx] = None) -> None:
    """iput of size elements, tst apart in target and sst apart in source."""
    to, of = _flat(target), _flat(source)
    _core.iput(to, of, pe, tst, sst, _fitting(to, of, tst, sst) if size is None else size, _known(ctx))


def iget(target: Array, source: Array, pe: int, tst: int = 1, sst: int = 1, size: Optional[int] = None,
         ctx: Optional[Ctx] = None) -> None:
    """iget of size elements, tst apart in target and sst apart in source."""
    to, of = _flat(target), _flat(source)
    _core.iget(to, of, pe, tst, sst, _fitting(to, of, tst, sst) if size is None else size, _known(ctx))


def put_signal(target: Array, source: Array, pe: int, signal: Array, value: int, sigop: int, size: Optional[int] = None,
        ctx: Optional[Ctx] = None) -> None:
    """put_signal of size elements."""
    to, of = _cut(target, source, size)
    _core.put_signal(to, of, pe, signal, value, int(sigop), _known(ctx))


def put_signal_nbi(target: Array, source: Array, pe: int, signal: Array, value: int, sigop: int, size: Optional[int] = None,
        ctx: Optional[Ctx] = None) -> None:
    """put_signal_nbi of size elements."""
    to, of = _cut(target, source, size)
    _core.put_signal_nbi(to, of, pe, signal, value, int(sigop), _known(ctx))


def _known(ctx: Optional[Ctx]) -> Optional[Ctx]:
    """No context stands for the default one."""
    return None if ctx is None or ctx._handle == _start.CTX_DEFAULT else ctx
