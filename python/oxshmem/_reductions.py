"""Reductions by name; `reduce` takes the operator as an argument."""

from __future__ import annotations

from typing import Any, Optional

from numpy.typing import NDArray

from ._collectives import OP, reduce, reduce_nb
from ._requests import Request
from ._teams import Team

Array = NDArray[Any]


def and_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with and.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> shmem.and_reduce(dest, source)
    """
    reduce(dest, source, OP.AND, team)


def and_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with and, and returns at once.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> request = shmem.and_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.AND, team)


def or_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with or.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> shmem.or_reduce(dest, source)
    """
    reduce(dest, source, OP.OR, team)


def or_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with or, and returns at once.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> request = shmem.or_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.OR, team)


def xor_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with exclusive or.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> shmem.xor_reduce(dest, source)
    """
    reduce(dest, source, OP.XOR, team)


def xor_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with exclusive or, and returns at once.

    >>> source, dest = shmem.ones(10, dtype=int), shmem.zeros(10, dtype=int)
    >>> request = shmem.xor_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.XOR, team)


def max_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Finds the largest element of all members at each place.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> shmem.max_reduce(dest, source)
    """
    reduce(dest, source, OP.MAX, team)


def max_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Finds the largest element of all members at each place, and returns at once.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> request = shmem.max_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.MAX, team)


def min_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Finds the smallest element of all members at each place.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> shmem.min_reduce(dest, source)
    """
    reduce(dest, source, OP.MIN, team)


def min_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Finds the smallest element of all members at each place, and returns at once.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> request = shmem.min_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.MIN, team)


def sum_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Adds the elements of all members at each place.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> shmem.sum_reduce(dest, source)
    """
    reduce(dest, source, OP.SUM, team)


def sum_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Adds the elements of all members at each place, and returns at once.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> request = shmem.sum_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.SUM, team)


def prod_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Multiplies the elements of all members at each place.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> shmem.prod_reduce(dest, source)
    """
    reduce(dest, source, OP.PROD, team)


def prod_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Multiplies the elements of all members at each place, and returns at once.

    >>> source, dest = shmem.ones(10), shmem.zeros(10)
    >>> request = shmem.prod_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.PROD, team)
