"""Waits for several variables of this PE, and tests of them."""

from __future__ import annotations

import enum
import functools
import operator
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._collectives import routine
from ._names import Names
from ._needs import SYMMETRIC
from ._table import CONSTANTS

Array = NDArray[Any]
Status = Optional[Union[Sequence[int], Array]]


class CMP(enum.IntEnum, metaclass=Names):
    """Comparisons."""

    EQ, NE, GT = CONSTANTS["CMP_EQ"], CONSTANTS["CMP_NE"], CONSTANTS["CMP_GT"]
    GE, LT, LE = CONSTANTS["CMP_GE"], CONSTANTS["CMP_LT"], CONSTANTS["CMP_LE"]


Comparison = Union[CMP, str, int]

_SIGNS = {"==": 1, "!=": 2, ">": 3, ">=": 4, "<": 5, "<=": 6, "eq": 1, "ne": 2, "gt": 3, "ge": 4, "lt": 5, "le": 6}
_NO_INDEX = 2**64 - 1


def compared(cmp: Comparison, name: str) -> int:
    """The number of a comparison."""
    try:
        number = _SIGNS.get(cmp.lower(), 0) if isinstance(cmp, str) else operator.index(cmp)
    except TypeError:
        number = 0
    if not 1 <= number <= 6:
        raise ValueError(f"{name}: {cmp!r} is no comparison: it is one of \"==\", \"!=\", \">\", \">=\", \"<\", \"<=\", or of oxshmem.CMP")
    return number


@functools.lru_cache(maxsize=None)
def _limits(kind: "np.dtype[Any]") -> Tuple[int, int]:
    """The least and the greatest number of a type."""
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


def _as_ints(given: Array) -> Optional[List[int]]:
    """Python's objects as numbers of any size, which have an order that is exact; None if one of them is no integer."""
    try:
        return list(map(operator.index, given.reshape(-1).tolist()))
    except TypeError:
        return None


def _refuse(given: Array, kind: "np.dtype[Any]", name: str, argument: str) -> None:
    """Raises the exception for the first value that a type does not hold. Empty arrays have none."""
    least, most = _limits(kind)
    for _, value in np.ndenumerate(given):
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name}: the {argument} {value!r} is no integer; this call takes {kind} here") from None
        if not least <= number <= most:
            raise OverflowError(f"{name}: the {argument} {value!r} does not fit {kind}")


def whole(values: Any, kind: "np.dtype[Any]", name: str, argument: str) -> Array:
    """Whole numbers as an array of a type, which must hold each of them: numpy would truncate them silently.

    Only the ends are compared with the type: the least and the greatest one say it of all.
    """
    if isinstance(values, (np.ndarray, np.generic)):
        given = np.asarray(values)
        if np.can_cast(given.dtype, kind, "safe"):
            return np.asarray(given, dtype=kind, order="C")
    else:
        given = np.asarray(values, dtype=object)
    numbers: Any = given if given.dtype.kind in "iu" else _as_ints(given) if given.dtype.kind == "O" else None
    if numbers is not None and given.size:
        ends = (numbers.min(), numbers.max()) if numbers is given else (min(numbers), max(numbers))
        least, most = _limits(kind)
        if least <= int(ends[0]) and int(ends[1]) <= most:
            return np.array(numbers, dtype=kind, order="C").reshape(given.shape)
    _refuse(given, kind, name, argument)
    return np.empty(given.shape, dtype=kind)


def _line(values: Array, in_order_f: bool) -> Array:
    """Values of several dimensions in the order in which the variables beside them lie in memory."""
    return values.reshape(-1, order="F" if in_order_f else "C")


def _many(name: str, result: str, ivars: Array, cmp: Comparison, values: ArrayLike, status: Status,
          indices: Optional[Array] = None) -> int:
    begin, number, size, stride, code, _, in_order_f = _core.inspect(ivars, SYMMETRIC, name, "ivars")
    if stride != 1:
        raise ValueError(f"{name}: ivars has a stride of {stride} elements; this call takes elements that lie together")
    kind = np.asarray(ivars).dtype
    address = routine(name, code, ivars)  # of this type
    if number and begin % size:
        raise ValueError(f"{name}: the elements of ivars, of {size} bytes each, do not lie at multiples of their size, where a wait "
                         "finds them: use an array of their own, or a dtype with align=True")
    value: Any = values
    # Python's own number, which is what most programs pass, needs no array.
    if type(values) is not int or not _limits(kind)[0] <= values <= _limits(kind)[1]:
        value = whole(values, kind, name, "value")
        if value.ndim and value.size != number:
            raise ValueError(f"{name}: {value.size} values for {number} elements")
        if value.ndim:
            value, address = _line(value, in_order_f), routine(name + "_vector", code, ivars)
        else:
            value = int(value)
    left_out = None if status is None else _line(whole(status, np.dtype(np.int32), name, "status"), in_order_f)
    if left_out is not None and left_out.size != number:
        raise ValueError(f"{name}: status has {left_out.size} elements for {number}")
    more = () if indices is None else (indices,)
    got: int = _core.call(address, result, ivars, number, *more, left_out, compared(cmp, name), value)
    return got


def wait_until_all(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> None:
    """Waits until the comparison with a value is true for all elements, or that of each with its own value. Elements with a status other
    than 0 do not count.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> shmem.wait_until_all(flags, "==", 1)
    """
    _many("wait_until_all", "n", ivars, cmp, value, status)


def wait_until_any(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> Optional[int]:
    """Waits until the comparison is true for an element, and returns its index; None if no element counts.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> which = shmem.wait_until_any(flags, "==", 1)
    """
    index = _many("wait_until_any", "u", ivars, cmp, value, status)
    return None if index == _NO_INDEX else index


def wait_until_some(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> List[int]:
    """Waits until the comparison is true for some elements, and returns the indices of all of these.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> for which in shmem.wait_until_some(flags, "==", 1): print(which)
    """
    indices = np.empty(max(np.asarray(ivars).size, 1), dtype=np.uint64)
    number = _many("wait_until_some", "u", ivars, cmp, value, status, indices)
    found: List[int] = indices[:number].tolist()
    return found


def test_all(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> bool:
    """Whether the comparison is true for all elements now.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> shmem.test_all(flags, "==", 1)
    """
    return bool(_many("test_all", "I", ivars, cmp, value, status))


def test_any(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> Optional[int]:
    """The index of an element for which the comparison is true now, or None.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> which = shmem.test_any(flags, "==", 1)
    """
    index = _many("test_any", "U", ivars, cmp, value, status)
    return None if index == _NO_INDEX else index


def test_some(ivars: Array, cmp: Comparison, value: ArrayLike, status: Status = None) -> List[int]:
    """The indices of all elements for which the comparison is true now.

    >>> flags = shmem.zeros(4, dtype=int)
    >>> shmem.test_some(flags, "==", 1)
    """
    indices = np.empty(max(np.asarray(ivars).size, 1), dtype=np.uint64)
    number = _many("test_some", "U", ivars, cmp, value, status, indices)
    found: List[int] = indices[:number].tolist()
    return found
