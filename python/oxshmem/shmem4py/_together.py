"""Collectives, waits and locks of shmem4py, made by those of this module."""

from typing import Any, List, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

import oxshmem as _shmem

from .. import _core, _start, _waits
from .._locks import Turns, turns_of
from .._needs import SYMMETRIC
from .._start import address
from ._calls import _cut, _fitting, _flat, _size, free, new_lock
from ._objects import CMP, OP, Ctx, Team

Array = NDArray[Any]
Status = Optional[Sequence[int]]


def _members(team: Optional[Team]) -> int:
    return _shmem.n_pes() if team is None else team.n_pes()


def broadcast(target: Array, source: Array, root: int, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """A broadcast of size elements."""
    to, of = _cut(target, source, size)
    _shmem.broadcast(to, of, root, team)


def collect(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """A collect of size elements of this PE."""
    of = _flat(source)
    _shmem.collect(_flat(target), of if size is None else of[:_size(size, of.size)], team)


def fcollect(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """An fcollect of size elements of each PE."""
    of = _flat(source)
    _shmem.fcollect(_flat(target), of if size is None else of[:_size(size, of.size)], team)


def alltoall(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """An exchange of size elements between any two PEs."""
    to, of, members = _flat(target), _flat(source), _members(team)
    most = min(to.size, of.size) // members
    number = most if size is None else _size(size, most)
    _shmem.alltoall(to, of[:number * members], team)


def alltoalls(target: Array, source: Array, tst: int = 1, sst: int = 1, size: Optional[int] = None,
              team: Optional[Team] = None) -> None:
    """An exchange of size elements between any two PEs, tst apart in target and sst apart in source."""
    to, of, members = _flat(target), _flat(source), _members(team)
    _shmem.alltoalls(to, of, tst, sst, _fitting(to, of, tst, sst) // members if size is None else size, team)


def reduce(target: Array, source: Array, op: OP = OP.SUM, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """A reduction of size elements."""
    to, of = _cut(target, source, size)
    _shmem.reduce(to, of, OP(str(op).lower()), team)


def and_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with and."""
    reduce(target, source, OP.AND, size, team)


def or_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with or."""
    reduce(target, source, OP.OR, size, team)


def xor_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with xor."""
    reduce(target, source, OP.XOR, size, team)


def max_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with max."""
    reduce(target, source, OP.MAX, size, team)


def min_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with min."""
    reduce(target, source, OP.MIN, size, team)


def sum_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with sum."""
    reduce(target, source, OP.SUM, size, team)


def prod_reduce(target: Array, source: Array, size: Optional[int] = None, team: Optional[Team] = None) -> None:
    """The reduction with prod."""
    reduce(target, source, OP.PROD, size, team)


def _line(values: Any) -> Array:
    """Values as one line, of the type that they have."""
    return (values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)).reshape(-1)


def wait_until_all_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> None:
    """wait_until_all with a value for each element."""
    _waits.wait_until_all(ivars, cmp, _line(values), status)


def wait_until_any_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> Optional[int]:
    """wait_until_any with a value for each element."""
    return _waits.wait_until_any(ivars, cmp, _line(values), status)


def wait_until_some_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> List[int]:
    """wait_until_some with a value for each element."""
    return _waits.wait_until_some(ivars, cmp, _line(values), status)


def test_all_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> bool:
    """test_all with a value for each element."""
    return _waits.test_all(ivars, cmp, _line(values), status)


def test_any_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> Optional[int]:
    """test_any with a value for each element."""
    return _waits.test_any(ivars, cmp, _line(values), status)


def test_some_vector(ivars: Array, cmp: CMP, values: Sequence[Any], status: Status = None) -> List[int]:
    """test_some with a value for each element."""
    return _waits.test_some(ivars, cmp, _line(values), status)


def _turns_of(name: str, lock: Array) -> Turns:
    """The turns of a lock, a word that must be symmetric and aligned: the library would end the job. Of a shorter one it would write past
    the end."""
    place, count, size = _core.inspect(lock, SYMMETRIC, name, "lock")[:3]
    if place % 8:
        raise ValueError(f"{name}: the lock does not lie at a multiple of 8 bytes: make it with new_lock")
    if count * size < 8:
        raise ValueError(f"{name}: the lock has {count * size} bytes and needs 8: make it with new_lock")
    return turns_of(lock, place)


def set_lock(lock: Array) -> None:
    """Takes a lock."""
    _turns_of("set_lock", lock).take(lock)


def test_lock(lock: Array) -> bool:
    """Takes a lock if it is free; True if it was not."""
    return not _turns_of("test_lock", lock).take(lock, blocking=False)


def clear_lock(lock: Array) -> None:
    """Gives a lock back."""
    if not _turns_of("clear_lock", lock).give(lock):
        _core.call(address("shmem_clear_lock"), "n", lock)  # which knows the locks that this module has not taken


class Lock(_start.InProcess):
    """A lock as an object."""

    def __init__(self) -> None:
        self._lock: Optional[Array] = new_lock()

    def _word(self) -> Array:
        if self._lock is None:
            raise RuntimeError("Lock: it has been destroyed")
        return self._lock

    def acquire(self, blocking: bool = True) -> bool:
        """Takes it; without `blocking` only if it is free."""
        if blocking:
            set_lock(self._word())
            return True
        return not test_lock(self._word())

    def release(self) -> None:
        """Gives it back."""
        clear_lock(self._word())

    def destroy(self) -> None:
        """Frees its memory, on all PEs."""
        if self._lock is not None:
            free(self._lock)
            self._lock = None

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: Any) -> None:
        self.release()


def fence(ctx: Optional[Ctx] = None) -> None:
    """Orders operations."""
    _shmem.fence(ctx)


def quiet(ctx: Optional[Ctx] = None) -> None:
    """Completes operations."""
    _shmem.quiet(ctx)
