"""Teams: some of the PEs, with numbers of their own."""

from __future__ import annotations

import inspect
from typing import Any, Dict, Optional, Tuple, Type, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core, _start
from ._contexts import Ctx, end_dropped, end_those_of
from ._start import address, c_int
from ._table import CONSTANTS

_MASK = CONSTANTS["TEAM_NUM_CONTEXTS"]
_Kind = TypeVar("_Kind", bound="Team")


def _config(name: str, num_contexts: int) -> NDArray[Any]:
    number = c_int(num_contexts, name, "num_contexts")
    if number < 0:  # the library would end the job
        raise ValueError(f"{name}: num_contexts is {number}; a team has 0 contexts or more")
    return np.array([number], dtype=np.int32)


class Team(_start.InProcess):
    """Some of the PEs. `split_strided`, `split_2d` and `split` make teams out of a team, and all its members call them; a PE
    that is in none gets a team that is false.

    >>> with shmem.TEAM_WORLD.split_strided(0, 2) as even:
    ...     if even:
    ...         shmem.sync(even)
    """

    __slots__ = ("_handle", "_predefined", "__weakref__")
    __signature__ = inspect.Signature()  # `help` shows no arguments: a program calls a split
    _handle: int
    _predefined: bool

    def __init__(self, *_: Any, **__: Any) -> None:
        """A team is made by a split of another one."""
        raise TypeError("a team is made by TEAM_WORLD.split_strided, split_2d or split")

    @classmethod
    def _of(cls: Type[_Kind], handle: int, predefined: bool = False) -> _Kind:
        """The team that the library knows by a handle; 0: none."""
        team = cls.__new__(cls)
        team._handle, team._predefined = handle, predefined
        _start.until_end(team)
        return team

    def _end(self) -> None:
        """The library has ended, and its teams with it. The predefined ones are there again in another life."""
        if not self._predefined:
            self._handle = 0

    def _valid(self, routine: str) -> int:
        if not self._handle:
            raise RuntimeError(f"{routine}: this PE is not in the team, or the team has been destroyed, or finalize() has ended "
                               "it: ask `if team:` first")
        return self._handle

    def my_pe(self) -> int:
        """The number of this PE in the team."""
        number: int = _core.call(_MY_PE, "I", self._valid("Team.my_pe"))
        return number

    def n_pes(self) -> int:
        """The number of PEs in the team."""
        number: int = _core.call(_N_PES, "I", self._valid("Team.n_pes"))
        return number

    def translate_pe(self, pe: int, team: Optional[Team] = None) -> int:
        """The number that a PE of this team has in another one (the world, unless one is passed), or -1.

        >>> shmem.TEAM_SHARED.translate_pe(0)
        """
        name = "Team.translate_pe"
        if team is not None and not isinstance(team, Team):
            raise TypeError(f"{name}: team is {team!r}; pass a team, as oxshmem.TEAM_SHARED or what a split has made")
        other = (TEAM_WORLD if team is None else team)._valid(name)
        own, pe = self._valid(name), c_int(pe, name, "the PE")
        number: int = _core.call(address("shmem_team_translate_pe"), "I", own, pe, other)
        return number

    def split_strided(self, start: int = 0, stride: int = 1, size: Optional[int] = None, num_contexts: int = 0) -> Team:
        """A team of every stride-th PE from start on.

        >>> row = shmem.TEAM_WORLD.split_strided(0, 2)
        """
        parent, members = self._valid("Team.split_strided"), self.n_pes()
        start, stride = (c_int(number, "Team.split_strided", f"the {word}") for number, word in ((start, "start"), (stride, "stride")))
        if size is None:
            step = stride or 1
            size = len(range(start, members if step > 0 else -1, step))
        size = c_int(size, "Team.split_strided", "the size")
        last = start + stride * (size - 1)
        if size < 1 or not 0 <= start < members or not 0 <= last < members or stride == 0 and size > 1:
            raise ValueError(f"Team.split_strided: {size} PEs from PE {start} in steps of {stride} are no part of a team whose PEs "
                             f"have numbers from 0 to {members - 1}")
        new, config = np.zeros(1, dtype=np.uint64), _config("Team.split_strided", num_contexts)
        mask = _MASK if num_contexts else 0
        if _core.call(address("shmem_team_split_strided"), "i", parent, start, stride, size, config, mask, new):
            raise RuntimeError("Team.split_strided: the library has no team left: destroy teams that are not used any more")
        return type(self)._of(int(new[0]))

    def split_2d(self, width: int, num_contexts: int = 0) -> Tuple[Team, Team]:
        """The teams of this PE's row and column, where the members lie in rows of that width.

        >>> row, column = shmem.TEAM_WORLD.split_2d(2)
        """
        width = c_int(width, "Team.split_2d", "the width")
        if width < 1:
            raise ValueError(f"Team.split_2d: rows of {width} PEs cannot be made: the width is at least 1")
        teams, config = np.zeros(2, dtype=np.uint64), _config("Team.split_2d", num_contexts)
        mask = _MASK if num_contexts else 0
        refused = _core.call(address("shmem_team_split_2d"), "i", self._valid("Team.split_2d"), width, config, mask,
                             teams[:1], config, mask, teams[1:])
        if refused:
            raise RuntimeError("Team.split_2d: the library has no team left: destroy teams that are not used any more")
        return type(self)._of(int(teams[0])), type(self)._of(int(teams[1]))

    def split(self, color: int, key: int = 0) -> Team:
        """The team of the members that pass the same colour, in the order of their keys. A member with a negative colour gets a team that
        is false.

        >>> half = shmem.TEAM_WORLD.split(color=shmem.my_pe() % 2)
        """
        new = np.zeros(1, dtype=np.uint64)
        color, key = c_int(color, "Team.split", "the color"), c_int(key, "Team.split", "the key")
        # The library knows one negative colour, -1, and would end the job at any other one.
        _core.call(address("shmemx_team_split_color"), "n", self._valid("Team.split"), max(color, -1), key, new)
        return type(self)._of(int(new[0]))

    def get_config(self) -> Dict[str, int]:
        """How the team was made: `num_contexts`."""
        config = np.zeros(1, dtype=np.int32)
        _core.call(address("shmem_team_get_config"), "I", self._valid("Team.get_config"), _MASK, config)
        return {"num_contexts": int(config[0])}

    def create_ctx(self, options: int = 0) -> Ctx:
        """A context whose PE numbers are those of the team."""
        return Ctx(options, self)

    def sync(self) -> None:
        """Waits for all members."""
        _core.call(address("shmem_team_sync"), "i", self._valid("Team.sync"))

    def destroy(self) -> None:
        """Ends the team and its contexts. All members call this. The world is never destroyed."""
        if self._predefined or not self._handle:
            return
        end_dropped()  # contexts of this team may be among them
        handle, self._handle = self._handle, 0
        end_those_of(handle)
        _core.call(address("shmem_team_destroy"), "n", handle)

    def __bool__(self) -> bool:
        return self._handle != 0

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Team) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: Any) -> None:
        # An exception may be this PE's alone. The other members do not come then, and it would not be seen.
        if kind is None:
            self.destroy()

    def __repr__(self) -> str:
        if not _start.is_running() or not self._handle:
            return "<oxshmem.Team>"
        return f"<oxshmem.Team: PE {self.my_pe()} of {self.n_pes()}>"


_MY_PE, _N_PES = address("shmem_team_my_pe"), address("shmem_team_n_pes")
TEAM_WORLD = Team._of(_start.TEAM_WORLD, predefined=True)
TEAM_SHARED = Team._of(_start.TEAM_SHARED, predefined=True)
