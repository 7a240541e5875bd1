"""Symmetric arrays: numpy arrays in memory that other PEs reach.

`free` gives the memory back on all PEs. Without it an array goes with its last reference, but not at once: PEs drop references
at different times, and `shmem_free` is a call of all PEs. So a PE only notes what it has dropped, and an allocation, which all
PEs make anyway, now and then finds what all have dropped and frees it (`free_dropped`).
"""

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core, _requests
from ._contexts import complete_all, end_dropped
from ._needs import SYMMETRIC
from ._start import TEAM_WORLD, address, after_begin, after_end, c_int, integer, n_pes

Shape = Union[int, Sequence[int]]
DType = Optional[DTypeLike]

_MALLOC, _CALLOC, _ALIGN = address("shmem_malloc"), address("shmem_calloc"), address("shmem_align")
_HINTED, _FREE, _REDUCE = address("shmem_malloc_with_hints"), address("shmem_free"), address("shmem_ulong_and_reduce")
_PTR, _REACHES, _SYNC = address("shmem_ptr"), address("shmem_addr_accessible"), address("shmem_sync_all")
_SUM, _TRY = address("oxshmem_sum_over"), address("oxshmem_try_next_allocation")
# Words of the arrays in which PEs tell what they have dropped.
_WORDS = 64
# An allocation looks for dropped arrays after so many others, and after so many bytes if those are half of all.
_MANY_CALLS, _MANY_BYTES = 64, 1 << 24
# The library takes sizes of 64 bits, and no process has more bytes.
_MOST = 2**63 - 1


_core.library.oxshmem_heap_start.restype = ctypes.c_size_t
_core.library.oxshmem_release_heap.argtypes, _core.library.oxshmem_release_heap.restype = [ctypes.c_size_t], None


class Memory:
    """The heaps of the node in one life of the library. They stay mapped as long as the life lasts or a block refers to this."""

    __slots__ = ("start",)

    def __init__(self) -> None:
        self.start = _core.library.oxshmem_heap_start()

    def __del__(self, release: Any = _core.library.oxshmem_release_heap) -> None:
        release(self.start)


class Block:
    """Memory of the symmetric heap; arrays refer to it."""

    __slots__ = ("address", "bytes", "number", "memory", "__weakref__")

    def __init__(self, address: int, bytes: int, number: int, memory: Optional[Memory]) -> None:
        self.address, self.bytes, self.number, self.memory = address, bytes, number, memory

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        return {"shape": (self.bytes,), "typestr": "|u1", "data": (self.address, False), "version": 3}

    def __del__(self) -> None:
        # At the end of the process there is nothing to note, nor where the block has been freed or its heap has ended.
        if _heap is not None and self.number in _heap.blocks:
            _heap.dropped.add(self.number)


class Heap:
    """What is known of the blocks. All but `dropped` is the same on all PEs, because all allocate and free in one order."""

    def __init__(self) -> None:
        self.memory: Optional[Memory] = None
        self.blocks: Dict[int, Tuple[int, int]] = {}
        self.bytes = 0  # of all blocks
        self.dropped: Set[int] = set()
        self.made = 0
        self.first = 0  # of this life of the library
        self.since, self.calls = 0, 0
        self.scratch = 0

    def allocate(self, size: int, align: Optional[int], clear: bool, hints: int, name: str) -> Block:
        """Takes a block on all PEs."""
        if self.calls >= _MANY_CALLS or self.since > max(_MANY_BYTES, self.bytes // 2):
            self.sweep()
        may_make_room = bool(self.blocks)  # then the library does not tell the first refusal, which may be none for the program
        if may_make_room:
            _core.call(_TRY, "N")
        taken = self._take(size, align, clear, hints)
        if not taken and may_make_room:
            self.sweep()
            taken = self._take(size, align, clear, hints)
        if not taken:
            raise MemoryError(f"{name}: the symmetric heap has no room for {_in_words(size)} more; arrays take {_in_words(self.bytes)} "
                              "of it. Free arrays with oxshmem.free; the message of PE 0 says what limits the heap, and what to do")
        number, self.made = self.made, self.made + 1
        self.blocks[number] = (taken, size)
        self.bytes, self.since, self.calls = self.bytes + size, self.since + size, self.calls + 1
        return Block(taken, size, number, self.memory)

    def _take(self, size: int, align: Optional[int], clear: bool, hints: int) -> int:
        if align is not None:
            taken: int = _core.call(_ALIGN, "u", align, size)
        elif hints:
            taken = _core.call(_HINTED, "u", size, hints)
        else:
            taken = _core.call(_CALLOC if clear else _MALLOC, "u", *((size, 1) if clear else (size,)))
        if taken and clear and (align is not None or hints):
            fill(np.asarray(Block(taken, size, -1, self.memory)), 0)
        return taken

    def begin(self) -> None:
        """The library has begun, with an empty heap."""
        self.memory = Memory()

    def end(self) -> None:
        """The library has ended, and its heap with it: the next life begins with an empty one.

        Old arrays can be read and are in no new one's way, because their memory stays mapped until the last of them has gone. Numbers go
        on, so that an old block has none of a new one.
        """
        self.memory = None
        self.blocks.clear()
        self.bytes = 0
        self.dropped.clear()
        self.first = self.made
        self.since, self.calls, self.scratch = 0, 0, 0

    def free(self, number: int) -> None:
        """Gives a block back on all PEs."""
        taken, size = self.blocks.pop(number)
        self.bytes -= size
        self.dropped.discard(number)
        _core.call(_FREE, "n", taken)

    def sweep(self) -> int:
        """Gives back the blocks that all PEs have dropped; returns their number."""
        self.since, self.calls = 0, 0
        end_dropped()  # they hold arrays, too
        _requests.end_dropped()
        if not self.scratch:
            _core.call(_TRY, "N")  # there is another way without it
            self.scratch = _core.call(_CALLOC, "u", 2 * _WORDS, 8)
        numbers = sorted(self.blocks)
        gone = self._dropped_by_all(numbers) if self.scratch else self._counted_as_dropped(numbers)
        if gone:
            complete_all()  # a put to what this PE has dropped may still be on its way
        for number in gone:
            self.free(number)
        return len(gone)

    def _dropped_by_all(self, numbers: List[int]) -> List[int]:
        """The blocks that all PEs have dropped, by a reduction of bits in `scratch`."""
        words = np.asarray(Block(self.scratch, 16 * _WORDS, -1, self.memory)).view(np.uint64)
        gone: List[int] = []
        for begin in range(0, len(numbers), 64 * _WORDS):
            part = numbers[begin:begin + 64 * _WORDS]
            bits = np.zeros(64 * _WORDS, dtype=np.uint8)
            bits[:len(part)] = [number in self.dropped for number in part]
            words[:_WORDS] = np.packbits(bits, bitorder="little").view(np.uint64)
            if _core.call(_REDUCE, "i", TEAM_WORLD, words[_WORDS:], words, _WORDS):
                raise RuntimeError("oxshmem.free_dropped: the reduction over all PEs failed")
            all_of = np.unpackbits(words[_WORDS:].view(np.uint8), bitorder="little")
            gone += [number for number, bit in zip(part, all_of) if bit]
        return gone

    def _counted_as_dropped(self, numbers: List[int]) -> List[int]:
        """The same for a heap that has no room for `scratch`: sums of some words, which need no memory, count the PEs."""
        gone: List[int] = []
        pes = n_pes()
        width = pes.bit_length()
        for begin in range(0, len(numbers), 64 // width):
            part = numbers[begin:begin + 64 // width]
            mine = sum(1 << width * i for i, number in enumerate(part) if number in self.dropped)
            total: int = _core.call(_SUM, "u", TEAM_WORLD, mine)
            gone += [number for i, number in enumerate(part) if (total >> width * i) % (1 << width) == pes]
        return gone


_heap = Heap()
after_begin.append(_heap.begin)
after_end.append(_heap.end)


def block_of(array: Any) -> Optional[Block]:
    """The block that an array lies in."""
    while array is not None:
        if isinstance(array, Block):
            return array
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return None


def has_ended(array: Any) -> bool:
    """Whether an array lies in the heap of an earlier life of the library. The part in C asks for it."""
    block = block_of(array)
    return block is not None and 0 <= block.number < _heap.first


def _dimensions(name: str, shape: Any) -> Tuple[int, ...]:
    """A shape as numpy takes it: a whole number or several; a text is none."""
    try:
        return tuple(operator.index(n) for n in (shape if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)))
    except TypeError:
        raise TypeError(f"{name}: the shape is {shape!r}; it is a whole number, or a tuple of such numbers") from None


def _in_words(size: float) -> str:
    """A number of bytes in words."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, "TiB"
    return f"{round(size, 1):g} {unit}"


def sized(dtype: DType, value: Any = None) -> "np.dtype[Any]":
    """A type of elements. A text type without a length gets that of a value, and at least one character, as numpy's own."""
    kind = np.dtype(dtype)
    if kind.itemsize or kind.kind not in "SU":
        return kind
    if value is not None:
        kind = np.asarray(value).astype(kind).dtype
    return kind if kind.itemsize else np.dtype(f"{kind.kind}1")


def new(shape: Shape, dtype: DType, order: str, clear: bool, align: Optional[int] = None, hints: int = 0,
        name: str = "zeros") -> NDArray[Any]:
    """An array in memory of its own, for the call with this name."""
    kind = sized(dtype)
    if kind.hasobject:
        raise TypeError(f"{name}: arrays of Python objects cannot be symmetric: other PEs cannot follow their pointers. Use a dtype of "
                        "numbers, or transfer bytes (pickle.dumps)")
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order is {order!r}; a new array has order 'C' or 'F'")
    dimensions = _dimensions(name, shape)
    size = math.prod(dimensions) * kind.itemsize
    if size < 0 or any(n < 0 for n in dimensions):
        raise ValueError(f"{name}: the shape {dimensions} has a negative dimension")
    if size > _MOST:
        raise MemoryError(f"{name}: an array of the shape {dimensions} and of {kind} has 2**63 bytes or more, for which no memory "
                          "has room: pass a smaller shape")
    if align is not None:
        align = integer(align, name, "align") or None  # 0 asks for none
    if align is not None and (align < 0 or align & (align - 1) or align > _MOST):
        raise ValueError(f"{name}: align is {align}; it is a power of two, at most 2**62")
    whole = np.asarray(_heap.allocate(max(size, 1), align, clear, hints, name))
    return np.ndarray(dimensions, kind, whole, order="F" if order == "F" else "C")


def fill(made: NDArray[Any], values: Any) -> NDArray[Any]:
    """Gives an array its first values. No PE returns before all have them, so that none changes them before they are there."""
    made[...] = values
    _core.call(_SYNC, "n")
    return made


def empty(shape: Shape, dtype: DTypeLike = float, order: str = "C") -> NDArray[Any]:
    """A symmetric array with any contents. All PEs call this with the same shape and dtype.

    >>> shmem.empty((4, 100), dtype="f4")
    """
    return new(shape, dtype, order, clear=False, name="empty")


def zeros(shape: Shape, dtype: DTypeLike = float, order: str = "C") -> NDArray[Any]:
    """A symmetric array of zeros. All PEs call this with the same shape and dtype.

    >>> shmem.zeros(1000)
    """
    return new(shape, dtype, order, clear=True)


def ones(shape: Shape, dtype: DTypeLike = float, order: str = "C") -> NDArray[Any]:
    """A symmetric array of ones. All PEs call this with the same shape and dtype.

    >>> shmem.ones(10, dtype=int)
    """
    return fill(new(shape, dtype, order, clear=False, name="ones"), 1)


def full(shape: Shape, value: Any, dtype: DType = None, order: str = "C") -> NDArray[Any]:
    """A symmetric array of one value, which may differ between PEs; its type may not. All PEs call this.

    >>> shmem.full(10, shmem.my_pe())
    """
    kind = np.asarray(value).dtype if dtype is None else sized(dtype, value)
    return fill(new(shape, kind, order, clear=False, name="full"), value)


def array(values: Any, dtype: DType = None, order: str = "K") -> NDArray[Any]:
    """A symmetric copy of an array or of a list. All PEs call this; shape and dtype are the same on all of them.

    >>> shmem.array([1.0, 2.0, 3.0])
    """
    given = np.array(values, dtype=dtype, copy=True, order=order)  # type: ignore[call-overload]
    kind = "F" if given.flags.f_contiguous and not given.flags.c_contiguous else "C"
    return fill(new(given.shape, given.dtype, kind, clear=False, name="array"), given)


def _like(name: str, other: Any) -> Any:
    if not isinstance(other, (np.ndarray, np.generic)):
        raise TypeError(f"{name}: other is {other!r}; pass an array of numpy, as numpy.array(values)")
    return other


def zeros_like(other: NDArray[Any]) -> NDArray[Any]:
    """A symmetric array of zeros with the shape and the dtype of another array.

    >>> shmem.zeros_like(np.arange(10))
    """
    return new(_like("zeros_like", other).shape, other.dtype, "C", clear=True, name="zeros_like")


def empty_like(other: NDArray[Any]) -> NDArray[Any]:
    """A symmetric array with the shape and the dtype of another array.

    >>> shmem.empty_like(np.arange(10))
    """
    return new(_like("empty_like", other).shape, other.dtype, "C", clear=False, name="empty_like")


def free(array: Any) -> None:
    """Frees the memory of a whole symmetric array, even if only a slice of the array is passed. All PEs call this, in one order. The
    array and its slices are not used afterwards.

    >>> shmem.free(shmem.zeros(10))
    """
    block = block_of(array)
    if block is None:
        raise ValueError("free: this array is not symmetric: only arrays that oxshmem has made can be freed")
    if has_ended(array):
        raise ValueError("free: finalize() has ended the memory of this array, which can only be read: there is nothing "
                         "to free")
    if block.number not in _heap.blocks:
        raise ValueError("free: this array has been freed already")
    _requests.complete_those_with(lambda argument: block_of(argument) is block)
    complete_all()
    _heap.free(block.number)


def free_dropped() -> int:
    """Frees the memory of the arrays that all PEs have dropped, and returns their number. All PEs call this. Some allocations do it, too.

    >>> shmem.free_dropped()
    """
    _core.call(address("shmem_my_pe"), "I")
    return _heap.sweep()


def new_signal() -> NDArray[Any]:
    """A signal: a symmetric number that put_signal changes and signal_wait_until waits for.

    >>> arrived = shmem.new_signal()
    """
    return new(1, np.uint64, "C", clear=True, name="new_signal")


def is_symmetric(array: Any) -> bool:
    """Whether other PEs reach this array. Objects that are no arrays are not symmetric.

    >>> shmem.is_symmetric(np.zeros(3))
    """
    return addr_accessible(array, int(_core.call(address("shmem_my_pe"), "I")))


def addr_accessible(array: Any, pe: int) -> bool:
    """Whether an array is symmetric and reached on a PE.

    >>> shmem.addr_accessible(shmem.zeros(1), 0)
    """
    memory = np.asarray(array)  # what is no array yet becomes a private one
    return bool(_core.call(_REACHES, "I", memory.ctypes.data, c_int(pe, "addr_accessible", "the PE")))


def pe_accessible(pe: int) -> bool:
    """Whether there is such a PE and it can be reached.

    >>> shmem.pe_accessible(0)
    """
    return bool(_core.call(address("shmem_pe_accessible"), "I", c_int(pe, "pe_accessible", "the PE")))


def ptr(array: NDArray[Any], pe: int) -> Optional[NDArray[Any]]:
    """The array of a PE as an array of this one, or None if the PE is not on the same node.

    >>> neighbour = shmem.ptr(shmem.zeros(10), 1)
    """
    here = np.asarray(array)
    _core.inspect(here, SYMMETRIC, "ptr", "array")
    there: int = _core.call(_PTR, "U", here, c_int(pe, "ptr", "the PE"))
    if not there:
        return None
    seen = np.asarray(_Window(there, here))
    # Numpy makes fields of the padding in records that it meets in this way.
    return seen if seen.dtype == here.dtype else seen.view(here.dtype)


class _Window:
    """The memory of another PE, as long as this PE's own array is there."""

    def __init__(self, there: int, here: NDArray[Any]) -> None:
        self.here = here
        self.__array_interface__ = dict(here.__array_interface__, data=(there, False), strides=here.strides)
