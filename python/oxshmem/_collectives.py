"""Collectives: calls of all members of a team. Those with `_nb` return at once, with a request to wait for."""

from __future__ import annotations

import enum
from typing import Any, Callable, Dict, NoReturn, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _core, _start
from ._names import Names
from ._needs import SYMMETRIC, TOGETHER, WRITABLE
from ._requests import Request, end_dropped_if_many
from ._start import address, c_int, integer
from ._table import FAMILIES
from ._teams import Team

Array = NDArray[Any]

_TYPES = ("schar", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "longdouble", "complexf",
          "complexd")
_NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "longdouble",
          "complex64", "complex128")


class OP(str, enum.Enum, metaclass=Names):
    """Operators of reductions."""

    AND, OR, XOR, MAX, MIN, SUM, PROD = "and", "or", "xor", "max", "min", "sum", "prod"

    def __str__(self) -> str:
        return str(self.value)


Operator = Union[OP, str, np.ufunc, Callable[..., Any]]

_OF_NUMPY: Dict[Any, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.bitwise_and: "and", np.bitwise_or: "or",
    np.bitwise_xor: "xor", sum: "sum", max: "max", min: "min", np.sum: "sum", np.prod: "prod", np.max: "max", np.min: "min",
}
# They are the operators of bits for bool alone: of the integers 2 and 1 both are true, and no bit is in both.
_OF_BOOL: Dict[Any, str] = {np.logical_and: "and", np.logical_or: "or", np.logical_xor: "xor"}
_routines: Dict[Tuple[str, int], int] = {}


def routine(family: str, code: int, array: Array, is_bool: bool = False) -> int:
    """The address of a family's routine for the element type of an array."""
    found = _routines.get((family, code))
    if found is None:
        found = _routines[family, code] = _symbol(family, code)
    if not found or is_bool and family.split("_")[0] in ("sum", "prod"):
        _refuse_type(family, array)
    return found


def _is_of_bits(family: str) -> bool:
    return family.split("_")[0] in ("and", "or", "xor")


def _symbol(family: str, code: int) -> int:
    """The routine's address, or 0. The standard has no operators of bits for int8: those of uint8 do the same."""
    if code == _NAMES.index("int8") and _is_of_bits(family):
        code = _NAMES.index("uint8")
    return _core.symbol(FAMILIES[family].format(_TYPES[code])) if code < len(_TYPES) else 0


def _refuse_type(family: str, array: Array) -> NoReturn:
    kind = np.asarray(array).dtype
    of = [name for code, name in enumerate(_NAMES) if _symbol(family, code)]
    if family.split("_")[0] in ("and", "or", "xor", "max", "min"):
        of.insert(0, "bool")
    remedy = "make them with dtype=int" if "float64" not in of or kind == np.bool_ else "copy them into arrays of one of these dtypes"
    if not kind.isnative:
        remedy = f"make them in the byte order of this machine, with dtype=\"{kind.str[1:]}\""
    raise TypeError(f"{family}: the arrays have {kind}; this call takes {', '.join(of)}: {remedy}")


# What the arrays of a collective have to be.
_SOURCE = SYMMETRIC | TOGETHER
_DEST = _SOURCE | WRITABLE


def _pair(dest: Array, source: Array, name: str) -> Tuple[int, int, int, int, bool]:
    """Checks that both arrays are symmetric, contiguous and of one type. Returns the elements of each, the bytes of one, and the type."""
    _, into, size, step, code, is_bool, fortran = _core.inspect(dest, _DEST, name, "dest")
    _, number, other, stride, kind, too, order = _core.inspect(source, _SOURCE, name, "source")
    # Types without a code, as records, are told apart by their dtypes. A long double has no code where it is not aligned.
    is_one = code == kind < len(_TYPES) or max(code, kind) >= len(_TYPES) and np.asarray(dest).dtype == np.asarray(source).dtype
    if (size, is_bool) != (other, too) or not is_one:
        raise TypeError(f"{name}: dest has {np.asarray(dest).dtype} and source has {np.asarray(source).dtype}: make both with one dtype, "
                        "as oxshmem.zeros(n, dtype=source.dtype)")
    if fortran != order:
        raise ValueError(f"{name}: dest lies in order {'F' if fortran else 'C'} and source in order {'F' if order else 'C'}, so elements would change "
                         "places: make both in one order, as oxshmem.zeros(shape, order='F')")
    if step != 1 or stride != 1:
        raise ValueError(f"{name}: slices with a stride are not taken: use arrays whose elements lie together")
    return into, number, size, max(code, kind), is_bool


def _refuse_askew(name: str, **arrays: Array) -> None:
    """Refuses long doubles that are not aligned: reductions of the library do not take them."""
    for argument, array in arrays.items():
        values = np.asarray(array)
        if values.dtype == np.longdouble and not values.flags.aligned:
            raise ValueError(f"{name}: the elements of {argument}, of {values.itemsize} bytes each, do not lie at multiples of their size, "
                             "where a reduction finds long doubles: use an array of their own, or a dtype with align=True")


def _room(name: str, into: int, needed: int, why: str) -> None:
    if into < needed:
        raise ValueError(f"{name}: dest has {into} elements and needs {needed}: {why}")


def _team(team: Optional[Team], name: str) -> int:
    if team is not None and not isinstance(team, Team):
        raise TypeError(f"{name}: team is {team!r}; pass a team, as oxshmem.TEAM_WORLD or what a split has made")
    return _start.TEAM_WORLD if team is None else team._valid(name)


def _done(refused: int, name: str) -> None:
    if refused:
        raise RuntimeError(f"{name}: the library refused the call")


_SUM, _COLLECT_NB = address("oxshmem_sum_over"), address("oxshmem_collect_nb")


def _move(name: str, dest: Array, source: Array, needed: int, why: str, team: Optional[Team], *more: int) -> None:
    into, number, size, _, _ = _pair(dest, source, name)
    _room(name, into, needed, why)
    # Bytes are moved, so that every type can be; `nelems` is what one member gives to one other.
    _done(_core.call(address(f"shmem_{name}mem"), "i", _team(team, name), dest, source, *more), name)


def sync(team: Optional[Team] = None) -> None:
    """Waits for all members of a team.

    >>> shmem.sync(shmem.TEAM_SHARED)
    """
    _done(_core.call(address("shmem_team_sync"), "i", _team(team, "sync")), "sync")


def _members(team: Optional[Team], name: str) -> int:
    _team(team, name)
    return _start.n_pes() if team is None else team.n_pes()


def _root(name: str, root: int, team: Optional[Team]) -> int:
    members = _members(team, name)
    # A number of numpy has memory, whose address the part in C would pass on in its place.
    root = c_int(root, name, "the root")
    if not 0 <= root < members:
        raise ValueError(f"{name}: the root {root} is no member: they have numbers from 0 to {members - 1}")
    return root


def _share(name: str, number: int, team: Optional[Team]) -> int:
    """How many of `number` elements each member gets."""
    members = _members(team, name)
    if number % members:
        raise ValueError(f"{name}: source has {number} elements, which {members} members cannot share evenly")
    return number // members


def broadcast(dest: Array, source: Array, root: int = 0, team: Optional[Team] = None) -> None:
    """Copies the root's source into dest of all members. Both arrays are symmetric, and dest has at least as many elements.

    >>> source, dest = shmem.full(10, shmem.my_pe()), shmem.zeros(10, dtype=int)
    >>> shmem.broadcast(dest, source, root=0)
    """
    _, number, size, _, _ = _pair(dest, source, "broadcast")
    root = _root("broadcast", root, team)
    _move("broadcast", dest, source, number, "as many as source", team, number * size, root)


def collect(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Puts the sources of all members behind each other into dest; their lengths may differ. Both arrays are symmetric, and dest has at
    least as many elements as all sources together.

    >>> mine, everything = shmem.ones(shmem.n_pes()), shmem.zeros(shmem.n_pes() ** 2)
    >>> shmem.collect(everything, mine[:shmem.my_pe() + 1])
    """
    _, number, size, _, _ = _pair(dest, source, "collect")
    needed: int = _core.call(_SUM, "u", _team(team, "collect"), number)
    _move("collect", dest, source, needed, "the elements of all members", team, number * size)


def fcollect(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Puts the sources of all members, which have one length, behind each other into dest. Both arrays are symmetric, and dest has at
    least the number of members times as many elements.

    >>> mine, everything = shmem.ones(10), shmem.zeros(10 * shmem.n_pes())
    >>> shmem.fcollect(everything, mine)
    """
    _, number, size, _, _ = _pair(dest, source, "fcollect")
    needed = number * _members(team, "fcollect")
    _move("fcollect", dest, source, needed, "those of source from each member", team, number * size)


def alltoall(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """Gives a part of source to each member; dest gets a part from each. Both arrays are symmetric. The members share source evenly, and
    dest has at least as many elements.

    >>> given, got = shmem.ones(10 * shmem.n_pes()), shmem.zeros(10 * shmem.n_pes())
    >>> shmem.alltoall(got, given)
    """
    _, number, size, _, _ = _pair(dest, source, "alltoall")
    share = _share("alltoall", number, team)
    _move("alltoall", dest, source, number, "as many as source", team, share * size)


def alltoalls(dest: Array, source: Array, dst: int, sst: int, nelems: int, team: Optional[Team] = None) -> None:
    """As alltoall, with nelems elements for each member, which lie sst apart in source and dst apart in dest.

    >>> given, got = shmem.ones(5 * shmem.n_pes()), shmem.zeros(10 * shmem.n_pes())
    >>> shmem.alltoalls(got, given, dst=2, sst=1, nelems=5)
    """
    into, number, size, _, _ = _pair(dest, source, "alltoalls")
    members = _members(team, "alltoalls")
    dst, sst, nelems = (integer(value, "alltoalls", name) for value, name in ((dst, "dst"), (sst, "sst"), (nelems, "nelems")))
    if dst < 1 or sst < 1 or nelems < 0:
        raise ValueError("alltoalls: strides are at least 1 and nelems at least 0")
    if nelems == 0:
        return sync(team)
    _room("alltoalls", into, (members * nelems - 1) * dst + 1, "members * nelems, dst apart")
    if number < (members * nelems - 1) * sst + 1:
        raise ValueError(f"alltoalls: source has {number} elements and needs {(members * nelems - 1) * sst + 1}")
    group = _team(team, "alltoalls")
    # Elements of 16 bytes are two of 8, which travel after each other.
    unit, parts = (8, size // 8) if size > 8 and size % 8 == 0 else (size, 1)
    name = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}.get(unit)
    if name is None:
        raise TypeError(f"alltoalls: elements of {size} bytes; this call takes elements of 1, 2, 4, 8, 16 bytes")
    to, of = np.asarray(dest), np.asarray(source)
    begin, origin = (_core.inspect(array, SYMMETRIC, "alltoalls", "array")[0] for array in (to, of))
    for part in range(parts):
        _done(_core.call(address(f"shmem_{name}_alltoalls"), "i", group, begin + part * unit, origin + part * unit, dst * parts,
                         sst * parts, nelems), "alltoalls")


def _operator(op: Operator, source: Array) -> str:
    if isinstance(op, OP):
        return op.value
    if isinstance(op, str) and op in [known.value for known in OP]:
        return op
    found = _OF_NUMPY.get(op) if callable(op) else None
    logical = _OF_BOOL.get(op) if callable(op) else None
    if logical is not None:
        kind = np.asarray(source).dtype
        if kind != np.bool_:
            raise TypeError(f"reduce: numpy.logical_{logical} takes arrays of bool, and source has {kind}: put `a != 0` into an array "
                            "made with dtype=bool")
        return logical
    if found is None:
        raise ValueError(f"reduce: {op!r} is no operator: it is one of {', '.join(known.value for known in OP)}, or a function of "
                         "numpy such as numpy.add, maximum, minimum, multiply, bitwise_and")
    return found


def _reduction(name: str, dest: Array, source: Array, team: Optional[Team], family: str) -> Tuple[Any, ...]:
    into, number, _, code, is_bool = _pair(dest, source, name)
    _room(name, into, number, "as many as source")
    if code >= len(_TYPES) and _symbol(family, _NAMES.index("longdouble")):
        _refuse_askew(name, dest=dest, source=source)
    return routine(family, code, source, is_bool), "i", _team(team, name), dest, source, number


def reduce(dest: Array, source: Array, op: Operator = OP.SUM, team: Optional[Team] = None) -> None:
    """Combines the sources of all members, element by element, with an operator; dest gets the result on all. Both arrays are symmetric,
    sources have one length, and dest has at least as many elements.

    >>> mine, largest = shmem.full(10, shmem.my_pe()), shmem.zeros(10, dtype=int)
    >>> shmem.reduce(largest, mine, np.maximum)
    """
    name = _operator(op, source) + "_reduce"
    _done(_core.call(*_reduction(name, dest, source, team, name)), name)


def reduce_nb(dest: Array, source: Array, op: Operator = OP.SUM, team: Optional[Team] = None) -> Request:
    """Begins a reduction.

    >>> mine, largest = shmem.full(10, shmem.my_pe()), shmem.zeros(10, dtype=int)
    >>> request = shmem.reduce_nb(largest, mine, np.maximum)
    """
    name = _operator(op, source) + "_reduce_nb"
    return _begin(name, *_reduction(name, dest, source, team, name))


def sum_inscan(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """The sums of the sources of the members up to this one, element by element.

    >>> mine, upto = shmem.ones(10), shmem.zeros(10)
    >>> shmem.sum_inscan(upto, mine)
    """
    _done(_core.call(*_reduction("sum_inscan", dest, source, team, "sum_inscan")), "sum_inscan")


def sum_exscan(dest: Array, source: Array, team: Optional[Team] = None) -> None:
    """The sums of the sources of the members before this one, element by element.

    >>> mine, before = shmem.ones(10), shmem.zeros(10)
    >>> shmem.sum_exscan(before, mine)
    """
    _done(_core.call(*_reduction("sum_exscan", dest, source, team, "sum_exscan")), "sum_exscan")


def _begin(name: str, address: int, *arguments: Any) -> Request:
    end_dropped_if_many()
    handle = np.zeros(1, dtype=np.uint64)
    _done(_core.call(address, *arguments, handle), name)
    return Request(handle, [handle, arguments])


def barrier_all_nb() -> Request:
    """Begins a barrier of all PEs. All PEs call this: it does not match barrier_all.

    >>> request = shmem.barrier_all_nb()
    """
    return _begin("barrier_all_nb", address("shmemx_barrier_all_nb"), "i")


def sync_nb(team: Optional[Team] = None) -> Request:
    """Begins a sync of a team. All members call this: it does not match sync.

    >>> request = shmem.sync_nb()
    """
    return _begin("sync_nb", address("shmemx_sync_nb"), "i", _team(team, "sync_nb"))


def broadcast_nb(dest: Array, source: Array, root: int = 0, team: Optional[Team] = None) -> Request:
    """Begins a broadcast.

    >>> source, dest = shmem.full(10, shmem.my_pe()), shmem.zeros(10, dtype=int)
    >>> request = shmem.broadcast_nb(dest, source, root=0)
    """
    into, number, size, _, _ = _pair(dest, source, "broadcast_nb")
    root = _root("broadcast_nb", root, team)
    _room("broadcast_nb", into, number, "as many as source")
    return _begin("broadcast_nb", address("shmemx_broadcastmem_nb"), "i", _team(team, "broadcast_nb"), dest, source,
                  number * size, root)


def collect_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Begins a collect.

    >>> mine, everything = shmem.ones(10), shmem.zeros(10 * shmem.n_pes())
    >>> request = shmem.collect_nb(everything, mine)
    """
    into, number, size, _, _ = _pair(dest, source, "collect_nb")
    _room("collect_nb", into, number, "the elements of all members")
    return _begin("collect_nb", _COLLECT_NB, "i", _team(team, "collect_nb"), dest, source, number * size, into * size)


def fcollect_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Begins an fcollect.

    >>> mine, everything = shmem.ones(10), shmem.zeros(10 * shmem.n_pes())
    >>> request = shmem.fcollect_nb(everything, mine)
    """
    into, number, size, _, _ = _pair(dest, source, "fcollect_nb")
    _room("fcollect_nb", into, number * _members(team, "fcollect_nb"), "those of source from each member")
    return _begin("fcollect_nb", address("shmemx_fcollectmem_nb"), "i", _team(team, "fcollect_nb"), dest, source, number * size)


def alltoall_nb(dest: Array, source: Array, team: Optional[Team] = None) -> Request:
    """Begins an alltoall.

    >>> given, got = shmem.ones(10 * shmem.n_pes()), shmem.zeros(10 * shmem.n_pes())
    >>> request = shmem.alltoall_nb(got, given)
    """
    into, number, size, _, _ = _pair(dest, source, "alltoall_nb")
    share = _share("alltoall_nb", number, team)
    _room("alltoall_nb", into, number, "as many as source")
    return _begin("alltoall_nb", address("shmemx_alltoallmem_nb"), "i", _team(team, "alltoall_nb"), dest, source,
                  share * size)
