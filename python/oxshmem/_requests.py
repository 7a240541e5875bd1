"""Collectives that have returned at once."""

from __future__ import annotations

import threading
from typing import Any, Callable, Generator, List

from numpy.typing import NDArray

from . import _core, _start
from ._start import address

Array = NDArray[Any]

_TEST, _WAIT = address("shmemx_req_test"), address("shmemx_req_wait")
# A collective that begins looks for dropped requests that are over where there are so many. The limit is twice the number of those that go
# on, so each is looked at a few times however many go on.
_MANY = 64
_limit = _MANY


class Request(_start.InProcess):
    """A collective that goes on: await it, or call `wait` or `test`. Until it is over its source must stay as it is, and its dest has no
    result yet.

    >>> part, total = shmem.ones(10), shmem.zeros(10)
    >>> request = shmem.sum_reduce_nb(total, part)
    >>> request.wait()
    """

    __slots__ = ("_handle", "_arrays", "__weakref__")

    def __init__(self, handle: Array, arrays: List[Any]) -> None:
        self._handle, self._arrays = handle, arrays
        _start.until_end(self)

    def _end(self) -> None:
        """The library has ended, and has completed what was under way."""
        self._arrays = []

    def __del__(self) -> None:
        # The collective goes on without its request: other PEs may still read and write the arrays.
        if self._arrays:
            _start.dropped_requests.append(self._arrays)

    def test(self) -> bool:
        """Moves it on, and says whether it is over."""
        if not self._arrays:
            return True
        if _core.call(_TEST, "I", self._handle):
            return False
        self._arrays = []
        return True

    def wait(self) -> None:
        """Waits until it is over."""
        if self._arrays:
            _core.call(_WAIT, "i", self._handle)
            self._arrays = []

    def __await__(self) -> Generator[None, None, None]:
        while not self.test():
            yield


# Held by a thread that completes dropped requests of others, or looks for those that are over: the library takes a request from one thread.
_ending = threading.RLock()


def complete_those_with(is_meant: Callable[[Any], bool]) -> None:
    """Waits for the collectives that go on with a meant array, whose memory is about to be given back."""
    requests = [reference() for reference in _start.of_this_life.valuerefs()]
    going_on = [request._arrays for request in requests if isinstance(request, Request)]
    with _ending:
        for arrays in going_on + list(_start.dropped_requests):
            if arrays and any(is_meant(argument) for argument in arrays[1]):
                _core.call(_WAIT, "i", arrays[0])


def end_dropped() -> None:
    """Lets go of the arrays of collectives that are over and whose requests the program has dropped. It waits for no PE."""
    global _limit
    if not _ending.acquire(blocking=False):  # another thread may wait for one of them
        return
    try:
        dropped = list(_start.dropped_requests)
        # Until then each stays in the list, where a thread that gives memory back looks for it. New ones come behind these.
        _start.dropped_requests[:len(dropped)] = [arrays for arrays in dropped if _core.call(_TEST, "I", arrays[0])]
        _limit = max(_MANY, 2 * len(_start.dropped_requests))
    finally:
        _ending.release()


def end_dropped_if_many() -> None:
    """The same where there are many: memory does not grow with the number of requests that a program has ever dropped."""
    if len(_start.dropped_requests) >= _limit:
        end_dropped()
