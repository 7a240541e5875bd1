"""Locks of all PEs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import free, zeros
from ._start import address

_SET, _TEST, _CLEAR = address("shmem_set_lock"), address("shmem_test_lock"), address("shmem_clear_lock")


class Lock:
    """A lock that one PE holds at a time. All PEs make it together.

    >>> lock = shmem.Lock()
    >>> with lock:
    >>>     shmem.put(a, b, pe=0)
    """

    __slots__ = ("_word",)

    def __init__(self) -> None:
        self._word: NDArray[Any] = zeros(1, dtype=np.int64)

    def acquire(self, blocking: bool = True) -> bool:
        """Takes the lock; without `blocking` only if it is free. Says whether this PE has it."""
        if blocking:
            _core.call(_SET, "n", self._word)
            return True
        return not _core.call(_TEST, "i", self._word)

    def release(self) -> None:
        """Completes the operations of this PE and gives the lock back."""
        _core.call(_CLEAR, "n", self._word)

    def free(self) -> None:
        """Gives the memory of the lock back. All PEs call this."""
        free(self._word)

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()
