"""Locks of all PEs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core, _start
from ._arrays import free, zeros
from ._start import address

_SET, _TEST, _CLEAR = address("shmem_set_lock"), address("shmem_test_lock"), address("shmem_clear_lock")


class Lock(_start.InProcess):
    """A lock that one PE holds at a time. All PEs make it together.

    >>> lock, row = shmem.Lock(), shmem.zeros(10)
    >>> with lock:
    ...     shmem.put(row, np.ones(10), pe=0)
    """

    __slots__ = ("_word", "_is_held", "_has_ended", "_is_freed", "__weakref__")

    def __init__(self) -> None:
        self._word: NDArray[Any] = zeros(1, dtype=np.int64)
        self._is_held, self._has_ended, self._is_freed = False, False, False
        _start.until_end(self)

    def _end(self) -> None:
        """The library has ended, and other PEs reach the memory of the lock no more."""
        self._is_held, self._has_ended = False, True

    def acquire(self, blocking: bool = True) -> bool:
        """Takes the lock; without `blocking` only if it is free. Says whether this PE has it."""
        if self._is_freed:  # its memory may be another array's by now
            raise RuntimeError("Lock.acquire: this lock has been freed: make another one")
        if self._has_ended:
            raise RuntimeError("Lock.acquire: finalize() has ended this lock: make another one")
        if blocking:
            _core.call(_SET, "n", self._word)
            self._is_held = True
            return True
        if _core.call(_TEST, "i", self._word):
            return False
        self._is_held = True
        return True

    def release(self) -> None:
        """Completes the operations of this PE and gives the lock back, which this PE has acquired."""
        if self._is_freed:
            raise RuntimeError("Lock.release: this lock has been freed: release it first, and free it then")
        if not self._is_held:
            raise RuntimeError("Lock.release: this PE does not hold the lock: call acquire() first, or acquire(False) and release only "
                               "if it returned True; `with lock:` does both")
        self._is_held = False  # before another thread can take it
        _core.call(_CLEAR, "n", self._word)

    def free(self) -> None:
        """Gives the memory of the lock back. All PEs call this, and none uses the lock afterwards."""
        if self._is_freed:
            raise RuntimeError("Lock.free: this lock has been freed already")
        free(self._word)
        self._is_held, self._is_freed = False, True

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()
