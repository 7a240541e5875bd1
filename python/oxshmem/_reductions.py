"""Reductions by name; `reduce` takes the operator as an argument."""

from typing import Any, Optional

from numpy.typing import NDArray

from ._collectives import OP, Request, reduce, reduce_nb
from ._teams import Team

Array = NDArray[Any]


def and_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with and.

    >>> shmem.and_reduce(dest, source)
    """
    reduce(dest, source, OP.AND, team)


def and_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with and, and returns at once.

    >>> request = shmem.and_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.AND, team)


def or_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with or.

    >>> shmem.or_reduce(dest, source)
    """
    reduce(dest, source, OP.OR, team)


def or_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with or, and returns at once.

    >>> request = shmem.or_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.OR, team)


def xor_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Combines bits with exclusive or.

    >>> shmem.xor_reduce(dest, source)
    """
    reduce(dest, source, OP.XOR, team)


def xor_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Combines bits with exclusive or, and returns at once.

    >>> request = shmem.xor_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.XOR, team)


def max_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Finds the largest element of all members at each place.

    >>> shmem.max_reduce(dest, source)
    """
    reduce(dest, source, OP.MAX, team)


def max_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Finds the largest element of all members at each place, and returns at once.

    >>> request = shmem.max_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.MAX, team)


def min_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Finds the smallest element of all members at each place.

    >>> shmem.min_reduce(dest, source)
    """
    reduce(dest, source, OP.MIN, team)


def min_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Finds the smallest element of all members at each place, and returns at once.

    >>> request = shmem.min_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.MIN, team)


def sum_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Adds the elements of all members at each place.

    >>> shmem.sum_reduce(dest, source)
    """
    reduce(dest, source, OP.SUM, team)


def sum_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Adds the elements of all members at each place, and returns at once.

    >>> request = shmem.sum_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.SUM, team)


def prod_reduce(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Multiplies the elements of all members at each place.

    >>> shmem.prod_reduce(dest, source)
    """
    reduce(dest, source, OP.PROD, team)


def prod_reduce_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Multiplies the elements of all members at each place, and returns at once.

    >>> request = shmem.prod_reduce_nb(dest, source)
    """
    return reduce_nb(dest, source, OP.PROD, team)
