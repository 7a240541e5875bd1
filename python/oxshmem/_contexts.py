"""Contexts, and the order and completion of operations."""

from __future__ import annotations

import array
import enum
import operator
import threading
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Set

import numpy as np

from . import _core, _start
from ._names import Names
from ._start import address
from ._table import CONSTANTS

if TYPE_CHECKING:
    from ._teams import Team

_QUIET, _FENCE, _PE_QUIET = address("shmem_ctx_quiet"), address("shmem_ctx_fence"), address("shmem_ctx_pe_quiet")
_PLAIN_QUIET, _BARRIER, _SYNC = address("shmem_quiet"), address("shmem_barrier_all"), address("shmem_sync_all")
_DESTROY = address("shmem_ctx_destroy")


class CTX(enum.IntFlag, metaclass=Names):
    """Options of contexts."""

    DEFAULT = 0
    PRIVATE = CONSTANTS["CTX_PRIVATE"]
    SERIALIZED = CONSTANTS["CTX_SERIALIZED"]
    NOSTORE = CONSTANTS["CTX_NOSTORE"]


_OPTIONS = int(CTX.PRIVATE | CTX.SERIALIZED | CTX.NOSTORE)


def _options(options: Any) -> int:
    """Options of a context as the library takes them."""
    text = f"oxshmem.Ctx: the options are {options!r}; they are oxshmem.CTX.PRIVATE, SERIALIZED and NOSTORE, joined by |"
    if hasattr(options, "_valid"):
        text += ". A team goes by its name, as oxshmem.Ctx(team=row)"
    try:
        wanted = operator.index(options)
    except TypeError:
        raise TypeError(text) from None
    if wanted & ~_OPTIONS or wanted < 0:
        raise ValueError(text)
    return wanted


# Held by a thread that completes contexts of others, which must not end meanwhile, and by a thread that ends one.
_ending = threading.RLock()


def _members(team: Any) -> int:
    """The handle of a team, whose file imports this one."""
    if not hasattr(team, "_valid"):
        raise TypeError(f"oxshmem.Ctx: team is {team!r}; pass a team, as oxshmem.TEAM_WORLD or what a split has made")
    handle: int = team._valid("oxshmem.Ctx")
    return handle


class Stream:
    """A context of the library with the arrays of its operations that go on. All names of a context share it.

    When the last name goes, operations may still read and write these arrays, and garbage collection can run in any
    thread and inside any call. So the stream only goes to a list then, and the program's next call that completes operations
    ends it: `end_dropped`.
    """

    __slots__ = ("handle", "kept", "team")

    def __init__(self, handle: int, kept: List[Any], team: Optional[int]) -> None:
        self.handle, self.kept, self.team = handle, kept, team

    def end(self) -> None:
        """Completes the operations and ends the context."""
        with _ending:  # until the operations are complete: a thread that gives memory back waits for that
            handle, self.handle = self.handle, 0
            held = _taken(self.kept)
            if handle:
                _core.call(_DESTROY, "n", handle)
        del held

    def complete(self) -> None:
        """Completes the operations, if the context has not ended."""
        with _ending:
            held = _taken(self.kept)
            if self.handle:
                _core.call(_QUIET, "n", self.handle)
        del held

    def __del__(self, dropped: List[Any] = _start.dropped_streams) -> None:
        if self.handle:
            dropped.append(self)


def end_dropped() -> None:
    """Completes the operations of contexts that the program has dropped, and ends these contexts. It waits for no call of
    another PE."""
    while _start.dropped_streams:
        try:
            stream: Stream = _start.dropped_streams.pop()
        except IndexError:  # another thread was quicker
            break
        stream.end()


_start.before_end.append(end_dropped)


def complete_all() -> None:
    """Completes the operations of all contexts of this PE, before memory is freed. A barrier completes those of no context."""
    for reference in _start.of_this_life.valuerefs():
        stream = getattr(reference(), "_stream", None)
        if stream is not None:
            stream.complete()
    end_dropped()  # behind the others: another thread may have dropped one meanwhile


def end_those_of(team: int) -> None:
    """Ends the contexts of a team that is about to end: they would end with the team, and their names must know that."""
    for reference in _start.of_this_life.valuerefs():
        owner: Any = reference()
        stream = getattr(owner, "_stream", None)
        if stream is not None and stream.team == team:
            owner.destroy()


class Ctx(_start.InProcess):
    """A stream of operations, which are completed apart from all others. On a team its PE numbers are those of the team.

    >>> row = shmem.zeros(10)
    >>> with shmem.Ctx() as ctx:
    ...     shmem.put(row, np.ones(10), pe=0, ctx=ctx)
    ...     ctx.quiet()
    """

    __slots__ = ("_handle", "_pes", "_kept", "_stream", "__weakref__")

    def __init__(self, options: int = 0, team: Optional[Team] = None) -> None:
        self._handle, self._pes = 0, 0
        self._kept: List[Any] = []
        self._stream: Optional[Stream] = None
        wanted = _options(options)
        members = None if team is None else _members(team)
        end_dropped()
        handle = np.zeros(1, dtype=np.uint64)
        if members is None:
            refused = _core.call(address("shmem_ctx_create"), "i", wanted, handle)
        else:
            refused = _core.call(address("shmem_team_create_ctx"), "i", members, wanted, handle)
        if refused:
            raise RuntimeError("oxshmem.Ctx: there are as many contexts as SHMEM_MAX_CTX allows: destroy one, or raise the variable")
        self._handle = int(handle[0])
        self._stream = Stream(self._handle, self._kept, members)
        _start.until_end(self)
        self._pes = _start.n_pes() if team is None else team.n_pes()

    def fence(self) -> None:
        """Orders the operations before it and after it, for each PE."""
        fence(self)

    def quiet(self) -> None:
        """Waits until all operations of this context are complete."""
        quiet(self)

    def destroy(self) -> None:
        """Completes the operations and ends the context."""
        self._handle, self._pes = 0, 0
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.end()

    def _end(self) -> None:
        """The library has ended, and has completed all operations and ended all contexts."""
        self._handle, self._pes = 0, 0
        self._kept.clear()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.handle = 0

    def __bool__(self) -> bool:
        return self._handle != 0

    def __enter__(self) -> Ctx:
        return self

    def __exit__(self, *_: Any) -> None:
        self.destroy()


def _taken(kept: List[Any]) -> List[Any]:
    """Empties a list of arrays of operations that go on, each with its PE. The caller completes the operations and drops the arrays then.

    Another thread may put arrays into the list or complete operations meanwhile. Each array leaves the list once, so each is held by
    a caller that completes its operation.
    """
    taken: List[Any] = []
    while kept:
        try:
            taken.append(kept.pop())
        except IndexError:  # another thread was quicker
            break
    return taken


def _handle(ctx: Optional[Ctx], routine: str) -> int:
    if ctx is None:
        return _start.CTX_DEFAULT
    if not isinstance(ctx, Ctx):
        raise TypeError(f"{routine}: ctx is {ctx!r}; pass a context that oxshmem.Ctx has made")
    if not ctx._handle:
        raise ValueError(f"{routine}: this context has been destroyed, or finalize() has ended it")
    return ctx._handle


def fence(ctx: Optional[Ctx] = None) -> None:
    """Orders puts: those before it come before those after it, for each PE.

    >>> shmem.fence()
    """
    _core.call(_FENCE, "n", _handle(ctx, "fence"))


def quiet(ctx: Optional[Ctx] = None) -> None:
    """Waits until all operations of this PE are complete and can be seen.

    >>> shmem.quiet()
    """
    handle = _handle(ctx, "quiet")
    end_dropped()
    held = _taken(_start.kept if ctx is None else ctx._kept)
    if ctx is None:
        _core.call(_PLAIN_QUIET, "n")
    else:
        _core.call(_QUIET, "n", handle)
    del held


def pe_quiet(pes: Sequence[int], ctx: Optional[Ctx] = None) -> None:
    """Waits until all operations to these PEs are complete.

    >>> shmem.pe_quiet([0, 1])
    """
    handle, number = _handle(ctx, "pe_quiet"), _start.n_pes() if ctx is None else ctx._pes
    if not hasattr(pes, "__iter__"):
        raise TypeError(f"pe_quiet: pes is {pes!r}; it is a list of PEs, as [{pes!r}]")
    listed = list(pes)
    try:
        numbers = array.array("i", list(map(operator.index, listed)))
    except (OverflowError, TypeError):
        numbers = array.array("i", [_start.c_int(pe, "pe_quiet", "a PE") for pe in listed])  # it names the culprit
    if listed and not 0 <= min(numbers) <= max(numbers) < number:
        culprit = next(pe for pe in numbers if not 0 <= pe < number)
        raise ValueError(f"pe_quiet: there is no PE {culprit}: PEs have numbers from 0 to {number - 1}")
    kept = _start.kept if ctx is None else ctx._kept
    held = _taken(kept)
    done: Set[int] = set()
    try:
        _core.call(_PE_QUIET, "n", handle, numbers, len(numbers))
        done.update(numbers)
    finally:
        kept.extend([entry for entry in held if entry[1] not in done])  # operations to other PEs go on


def barrier_all() -> None:
    """Completes the operations of all PEs, and waits for all PEs.

    >>> shmem.barrier_all()
    """
    end_dropped()
    held = _taken(_start.kept)
    _core.call(_BARRIER, "n")
    del held


def sync_all() -> None:
    """Waits for all PEs, and completes nothing.

    >>> shmem.sync_all()
    """
    _core.call(_SYNC, "n")
