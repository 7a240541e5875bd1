"""Locks of all PEs."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any, Dict, List, Optional

import numpy as np
from numpy.typing import NDArray

from . import _core, _start
from ._arrays import Block, block_of, free, zeros
from ._start import address

_SET, _TEST, _CLEAR = address("shmem_set_lock"), address("shmem_test_lock"), address("shmem_clear_lock")
# Seconds from one look for other threads to the next: the library takes longer to report a deadlock.
_LOOK = 1.0


class Turns:
    """The threads of this PE that want a lock. One at a time may ask the library for it.

    A lock of the library belongs to a PE, which has one place in its queue. Two threads of a PE in the queue would write over each
    other's place. So one thread at a time asks for the lock or has it, and the others wait here, in the order in which they came.

    A thread that is alone goes on into the library, also where its PE has the lock already: no other thread can release it, and the
    library reports the deadlock.

    No state is guarded by a lock: a handler of a signal may come between any two instructions, and in a forked child the thread that had
    the lock is missing. Each change is one call of a list or a dictionary, which no other thread sees half.
    """

    __slots__ = ("holder", "taken", "queue", "ended")

    def __init__(self) -> None:
        self.holder: Dict[str, List[Any]] = {}  # by "turn": the answer of the thread that asks for the lock or has it
        self.taken: List[List[Any]] = []  # that answer, if the library has given this PE the lock
        self.queue: List[threading.Lock] = []  # of the threads that wait here, each for a lock of its own
        self.ended = ""  # the reason, when there are no turns any more

    def take(self, word: Any, blocking: bool = True) -> bool:
        """Takes the lock; without `blocking` only if it is free. After an exception the lock is as it was."""
        answer: List[Any] = []
        try:
            # A thread that is alone calls no further function here: each would take as long as the rest.
            is_free = not self.ended and not self.queue and self.holder.setdefault("turn", answer) is answer
            if is_free or self._enter(answer, blocking):
                # A handler of a signal runs when a call has ended. What it raises finds the answer of the library noted.
                if blocking:
                    _core.call_into(answer, _SET, "n", word)
                else:
                    _core.call_into(answer, _TEST, "i", word)
                if not answer[0]:
                    self.taken.append(answer)
                    return True
        except BaseException:
            if answer and not answer[0]:
                if not self.taken:
                    self.taken.append(answer)
                self.give(word)
            self._leave(answer)
            raise
        self._leave(answer)
        return False

    def give(self, word: Any) -> bool:
        """Completes operations and gives the lock back, which any thread of this PE may have taken. False: none has."""
        try:
            # One call takes the answer, gives the lock back and ends the turn: a handler of a signal that raises between them would leave
            # a lock that this PE has, and nobody can give back.
            return _core.call_out_of(self.taken, self.holder, _CLEAR, "n", word)
        finally:  # without a call where no thread waits
            if self.queue:
                self._go_on()

    def end(self, why: str) -> None:
        """Ends the turns. Threads that wait raise RuntimeError."""
        self.ended = self.ended or why
        self.taken.clear()
        for waiting in list(self.queue):
            _wake(waiting)

    def _enter(self, answer: List[Any], blocking: bool) -> bool:
        """Waits for the turn, which another thread has. Says whether the library is to be asked."""
        self._demand()
        if not blocking:
            return threading.active_count() == 1
        mine = threading.Lock()
        mine.acquire()
        try:
            self.queue.append(mine)
            while not (self.queue[0] is mine and self.holder.setdefault("turn", answer) is answer):
                if threading.active_count() == 1:
                    self.holder["turn"] = answer
                    break
                mine.acquire(timeout=_LOOK)
                self._demand()
            self.queue.remove(mine)
        except BaseException:  # also one of a handler that comes at the end of the wait; `take` lets the next thread go on
            if mine in self.queue:
                self.queue.remove(mine)
            raise
        return True

    def _leave(self, answer: List[Any]) -> None:
        """Ends the turn of a thread, if it has one."""
        if self.holder.get("turn") is answer:
            del self.holder["turn"]
        self._go_on()

    def _go_on(self) -> None:
        """Lets the next thread go on if none has the turn."""
        if self.queue and not self.holder:
            for waiting in self.queue[:1]:
                _wake(waiting)

    def _demand(self) -> None:
        if self.ended:
            raise RuntimeError(self.ended)


def _wake(waiting: threading.Lock) -> None:
    with contextlib.suppress(RuntimeError):  # another thread has done so
        waiting.release()


# Turns of locks that are arrays, as shmem4py has them, by the address. Another array at the same address has another block.
_of_blocks: "weakref.WeakKeyDictionary[Block, Dict[int, Turns]]" = weakref.WeakKeyDictionary()
_of_no_block: Dict[int, Turns] = {}


def turns_of(word: Any, place: int) -> Turns:
    """The turns of a lock that is an array at this address. They are the same for all arrays that show it."""
    block = block_of(word)
    known = _of_no_block if block is None else _of_blocks.setdefault(block, {})
    return known.setdefault(place, Turns())


def _end_all() -> None:
    """The library has ended, and its locks with it."""
    for known in [_of_no_block, *_of_blocks.values()]:
        for turns in list(known.values()):
            turns.end("set_lock: finalize() has ended this lock: make another one")
    _of_no_block.clear()


_start.after_end.append(_end_all)


class Lock(_start.InProcess):
    """A lock that one PE holds at a time, and there one thread. All PEs make it together.

    >>> lock, row = shmem.Lock(), shmem.zeros(10)
    >>> with lock:
    ...     shmem.put(row, np.ones(10), pe=0)
    """

    __slots__ = ("_word", "_place", "_turns", "_is_freed", "__weakref__")

    def __init__(self) -> None:
        self._word: NDArray[Any] = zeros(1, dtype=np.int64)
        self._place: int = self._word.ctypes.data  # a number takes a call less time than an array
        self._turns, self._is_freed = Turns(), False
        _start.until_end(self)

    def _end(self) -> None:
        """The library has ended, and other PEs reach the memory of the lock no more."""
        self._turns.end("Lock.acquire: finalize() has ended this lock: make another one")

    def acquire(self, blocking: bool = True) -> bool:
        """Takes the lock; without `blocking` only if it is free. Says whether this PE has it. Other threads of the PE that ask for it wait
        until it is released."""
        return self._turns.take(self._place, blocking)

    def release(self) -> None:
        """Completes the operations of this PE and gives the lock back, which a thread of this PE has acquired: this one or another."""
        if self._is_freed or self._turns.ended or not self._turns.give(self._place):
            raise self._not_held()

    def _not_held(self) -> RuntimeError:
        if self._is_freed:
            return RuntimeError("Lock.release: this lock has been freed: release it first, and free it then")
        return RuntimeError("Lock.release: this PE does not hold the lock: call acquire() first, or acquire(False) and release only "
                            "if it returned True; `with lock:` does both")

    def free(self) -> None:
        """Gives the memory of the lock back. All PEs call this, and none uses the lock afterwards."""
        if self._is_freed:
            raise RuntimeError("Lock.free: this lock has been freed already")
        free(self._word)
        self._is_freed = True
        self._turns.end("Lock.acquire: this lock has been freed: make another one")  # its memory may be another array's by now

    def __enter__(self) -> Lock:
        self._turns.take(self._place)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._is_freed or self._turns.ended or not self._turns.give(self._place):  # as `release`, without its call
            raise self._not_held()
