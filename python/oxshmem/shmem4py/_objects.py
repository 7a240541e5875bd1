"""Contexts, teams, constants, and the little of cffi that programs of shmem4py see."""

import enum
from typing import Any, Dict, Optional

import numpy as np

from .. import CMP, OP, SIGNAL, THREAD, _core, _start
from .. import Ctx as _Ctx
from .. import Team as _Team
from .._contexts import CTX as _CTX
from .._needs import LOCAL_SOURCE
from .._start import address
from .._table import CONSTANTS

__all__ = ["AMO", "CMP", "CTX", "Ctx", "MALLOC", "OP", "SIGNAL", "THREAD", "Team", "ffi", "lib", "rc", "CTX_DEFAULT", "CTX_INVALID",
           "TEAM_WORLD", "TEAM_SHARED", "TEAM_INVALID"]


class _CData:
    """An address, or a number of C."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _CData) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class _FFI:
    """What programs do with addresses."""

    CData = _CData
    NULL = _CData(0)

    @staticmethod
    def from_buffer(*arguments: Any) -> _CData:
        """The address of a buffer, the last argument that is one."""
        array = [word for word in arguments if not isinstance(word, (str, bool))][-1]
        return _CData(_core.inspect(array, LOCAL_SOURCE, "from_buffer", "it")[0])

    @staticmethod
    def cast(ctype: str, value: Any) -> _CData:
        """A number, or an address as a number."""
        return _CData(int(value))


class _Library:
    """Constants and addresses by their C names."""

    def __getattr__(self, name: str) -> int:
        found = CONSTANTS.get(name[len("SHMEM_"):]) if name.startswith("SHMEM_") else None
        return address(name) if found is None else found


ffi, lib = _FFI(), _Library()


class _Settings:
    """Settings. The library begins at the first call, with all threads; `init_thread` asks for another level."""

    _names = ("initialize", "threads", "thread_level", "finalize")

    def __init__(self) -> None:
        self.__dict__.update(initialize=True, threads=True, thread_level="multiple", finalize=None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise TypeError(f"rc has no setting {name!r}: it has {', '.join(self._names)}")
        self.__dict__[name] = value

    def __call__(self, **settings: Any) -> None:
        for name, value in settings.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.rc>"


rc = _Settings()


class CTX(enum.IntFlag):
    """Options of contexts."""

    PRIVATE, SERIALIZED, NOSTORE = int(_CTX.PRIVATE), int(_CTX.SERIALIZED), int(_CTX.NOSTORE)


class MALLOC(enum.IntFlag):
    """Hints for memory."""

    ATOMICS_REMOTE = CONSTANTS["MALLOC_ATOMICS_REMOTE"]
    SIGNAL_REMOTE = CONSTANTS["MALLOC_SIGNAL_REMOTE"]


class AMO(str, enum.Enum):
    """Operators of atomics."""

    SET, INC, ADD, AND, OR, XOR = "set", "inc", "add", "and", "or", "xor"

    def __str__(self) -> str:
        return str(self.value)


class Ctx(_Ctx):
    """A context. `Ctx()` is the invalid one; `Ctx.create` makes one; `Ctx(other)` is another name of it."""

    __slots__ = ()

    def __init__(self, ctx: "Optional[Ctx]" = None) -> None:
        if ctx is not None and not isinstance(ctx, Ctx):
            raise TypeError(f"Ctx: {ctx!r} is no context")
        self._handle, self._pes = (ctx._handle, ctx._pes) if ctx is not None else (0, 0)
        self._kept = ctx._kept if ctx is not None else []
        self._stream = ctx._stream if ctx is not None else None
        _start.until_end(self)

    def _end(self) -> None:
        """The library has ended. The default context is there again in another life."""
        if self is not CTX_DEFAULT:
            super()._end()

    @staticmethod
    def create(options: int = 0, team: "Optional[Team]" = None) -> "Ctx":
        """Makes a context for all PEs, or those of a team."""
        made, new = _Ctx(int(options), team), Ctx()
        new._handle, new._pes, new._kept, new._stream = made._handle, made._pes, made._kept, made._stream
        return new

    def destroy(self) -> None:
        """Completes the operations and ends the context, under all of its names. The default one stays."""
        if self._handle == _start.CTX_DEFAULT:
            if self is not CTX_DEFAULT:
                self._handle = 0
            return
        stream = self._stream
        super().destroy()
        for name in list(_start.of_this_life.values()):
            if stream is not None and getattr(name, "_stream", None) is stream:
                _Ctx.destroy(name)

    def get_team(self) -> "Team":
        """The team of the context."""
        team = np.zeros(1, dtype=np.uint64)
        if not self._handle or _core.call(address("shmem_ctx_get_team"), "I", self._handle, team):
            raise RuntimeError("Ctx.get_team: this is no context")
        return Team._of(int(team[0]))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Ctx) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __enter__(self) -> "Ctx":
        return self


class Team(_Team):
    """A team. `Team()` is the invalid one; `Team(other)` is another name of it."""

    __slots__ = ()

    def __init__(self, team: "Optional[Team]" = None) -> None:
        if team is not None and not isinstance(team, Team):
            raise TypeError(f"Team: {team!r} is no team")
        self._handle, self._predefined = team._handle if team is not None else 0, False
        _start.until_end(self)

    def destroy(self) -> None:
        """Ends the team, under all of its names. The world and the team of the node stay."""
        if self._predefined:
            return
        if self._handle in (_start.TEAM_WORLD, _start.TEAM_SHARED):
            self._handle = 0
        for name in list(_start.of_this_life.values()):
            if name is not self and isinstance(name, _Team) and name._handle == self._handle:
                name._handle = 0  # before another team can have the handle
        super().destroy()

    def split_strided(self, start: int = 0, stride: int = 1, size: Optional[int] = None,  # type: ignore[override]
                      config: Optional[Dict[str, int]] = None, **options: int) -> "Team":
        """A team of every stride-th PE from start on."""
        wanted = {**(config or {}), **options}.get("num_contexts", 0)
        return Team._of(super().split_strided(start, stride, size, wanted)._handle)

    def create_ctx(self, options: int = 0) -> Ctx:
        """A context whose PE numbers are those of the team."""
        return Ctx.create(options, self)

    def translate_pe(self, pe: Optional[int] = None, team: Optional[_Team] = None) -> int:
        """The number of a PE (this one, if none is passed) in another team (the world, if none is passed); without one it raises."""
        own = self.my_pe() if pe is None else pe
        number = super().translate_pe(own, team)
        if number < 0:
            raise RuntimeError(f"Team.translate_pe: PE {own} of this team has no number in the other one")
        return number

    def __enter__(self) -> "Team":
        return self


CTX_DEFAULT = Ctx()
CTX_DEFAULT._handle = _start.CTX_DEFAULT
CTX_DEFAULT._kept = _start.kept
CTX_INVALID = Ctx()
TEAM_WORLD, TEAM_SHARED = Team._of(_start.TEAM_WORLD, True), Team._of(_start.TEAM_SHARED, True)
TEAM_INVALID = Team()
