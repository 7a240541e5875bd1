"""The atomics of shmem4py, made by those of this module."""

from typing import Any, Optional

from numpy.typing import NDArray

from .. import _core
from ._calls import _known
from ._objects import AMO, Ctx

Array = NDArray[Any]


def atomic_set(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_set of the first element."""
    _core.atomic_set(target, value, pe, _known(ctx))


def atomic_inc(target: Array, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_inc of the first element."""
    _core.atomic_inc(target, pe, _known(ctx))


def atomic_add(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_add of the first element."""
    _core.atomic_add(target, value, pe, _known(ctx))


def atomic_and(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_and of the first element."""
    _core.atomic_and(target, value, pe, _known(ctx))


def atomic_or(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_or of the first element."""
    _core.atomic_or(target, value, pe, _known(ctx))


def atomic_xor(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_xor of the first element."""
    _core.atomic_xor(target, value, pe, _known(ctx))


def atomic_fetch(source: Array, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch of the first element."""
    return _core.atomic_fetch(source, pe, _known(ctx))


def atomic_swap(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_swap of the first element."""
    return _core.atomic_swap(target, value, pe, _known(ctx))


def atomic_compare_swap(target: Array, cond: Any, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_compare_swap of the first element."""
    return _core.atomic_compare_swap(target, cond, value, pe, _known(ctx))


def atomic_fetch_inc(target: Array, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch_inc of the first element."""
    return _core.atomic_fetch_inc(target, pe, _known(ctx))


def atomic_fetch_add(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch_add of the first element."""
    return _core.atomic_fetch_add(target, value, pe, _known(ctx))


def atomic_fetch_and(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch_and of the first element."""
    return _core.atomic_fetch_and(target, value, pe, _known(ctx))


def atomic_fetch_or(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch_or of the first element."""
    return _core.atomic_fetch_or(target, value, pe, _known(ctx))


def atomic_fetch_xor(target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """atomic_fetch_xor of the first element."""
    return _core.atomic_fetch_xor(target, value, pe, _known(ctx))


def atomic_fetch_nbi(fetch: Array, source: Array, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_nbi of the first element."""
    _core.atomic_fetch_nbi(fetch, source, pe, _known(ctx))


def atomic_swap_nbi(fetch: Array, target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_swap_nbi of the first element."""
    _core.atomic_swap_nbi(fetch, target, value, pe, _known(ctx))


def atomic_compare_swap_nbi(fetch: Array, target: Array, cond: Any, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_compare_swap_nbi of the first element."""
    _core.atomic_compare_swap_nbi(fetch, target, cond, value, pe, _known(ctx))


def atomic_fetch_inc_nbi(fetch: Array, target: Array, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_inc_nbi of the first element."""
    _core.atomic_fetch_inc_nbi(fetch, target, pe, _known(ctx))


def atomic_fetch_add_nbi(fetch: Array, target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_add_nbi of the first element."""
    _core.atomic_fetch_add_nbi(fetch, target, value, pe, _known(ctx))


def atomic_fetch_and_nbi(fetch: Array, target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_and_nbi of the first element."""
    _core.atomic_fetch_and_nbi(fetch, target, value, pe, _known(ctx))


def atomic_fetch_or_nbi(fetch: Array, target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_or_nbi of the first element."""
    _core.atomic_fetch_or_nbi(fetch, target, value, pe, _known(ctx))


def atomic_fetch_xor_nbi(fetch: Array, target: Array, value: Any, pe: int, ctx: Optional[Ctx] = None) -> None:
    """atomic_fetch_xor_nbi of the first element."""
    _core.atomic_fetch_xor_nbi(fetch, target, value, pe, _known(ctx))


def atomic_op(target: Array, value: Any, op: AMO, pe: int, ctx: Optional[Ctx] = None) -> None:
    """The atomic with that operator."""
    name = AMO(str(op).lower()).value
    values = () if name == "inc" else (value,)
    getattr(_core, f"atomic_{name}")(target, *values, pe, _known(ctx))


def atomic_fetch_op(target: Array, value: Any, op: AMO, pe: int, ctx: Optional[Ctx] = None) -> Any:
    """The atomic with that operator, which returns what the element was."""
    name = AMO(str(op).lower()).value
    values = () if name == "inc" else (value,)
    return getattr(_core, "atomic_swap" if name == "set" else f"atomic_fetch_{name}")(target, *values, pe, _known(ctx))


def atomic_fetch_op_nbi(fetch: Array, target: Array, value: Any, op: AMO, pe: int, ctx: Optional[Ctx] = None) -> None:
    """The atomic with that operator, which fetches what the element was."""
    name = AMO(str(op).lower()).value
    values = () if name == "inc" else (value,)
    function = getattr(_core, "atomic_swap_nbi" if name == "set" else f"atomic_fetch_{name}_nbi")
    function(fetch, target, *values, pe, _known(ctx))
