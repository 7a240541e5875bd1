"""OpenSHMEM for Python: memory of other processes as numpy arrays.

    import numpy as np
    import oxshmem as shmem

    me, pes = shmem.my_pe(), shmem.n_pes()
    row = shmem.zeros(1000)                          # a numpy array that all PEs reach
    shmem.put(row, np.full(1000, float(me)), (me + 1) % pes)
    shmem.barrier_all()

    oshrun -n 4 python program.py

By theme, where `help(oxshmem.put)` shows one function with an example:

    arrays       zeros ones empty full array zeros_like empty_like free free_dropped ptr
    transfers    put get put_nbi get_nbi p g iput iget ibput ibget; quiet fence pe_quiet
    signals      new_signal put_signal put_signal_nbi signal_set signal_add signal_fetch signal_wait_until
    atomics      atomic_set, _fetch, _swap, _compare_swap, _inc, _add, _and, _or, _xor, and their fetching and _nbi forms
    waits        wait_until wait_until_all, _any, _some; test test_all, _any, _some
    all PEs      barrier_all sync_all; sync(team) of a team
    collectives  broadcast collect fcollect alltoall alltoalls reduce sum_reduce (and so on) sum_inscan sum_exscan; with _nb: Request
    others       Team TEAM_WORLD TEAM_SHARED, Ctx, Lock
"""

import enum as _enum

from ._arrays import (
    addr_accessible, array, empty, empty_like, free, free_dropped, full, is_symmetric, new_signal, ones,
    pe_accessible, ptr, zeros, zeros_like,
)
from ._collectives import (
    OP, alltoall, alltoall_nb, alltoalls, barrier_all_nb, broadcast, broadcast_nb, collect, collect_nb,
    fcollect, fcollect_nb, reduce, reduce_nb, sum_exscan, sum_inscan, sync, sync_nb,
)
from ._contexts import (
    CTX, Ctx, barrier_all, fence, pe_quiet, quiet, sync_all,
)
from ._core import (
    atomic_add, atomic_and, atomic_compare_swap, atomic_compare_swap_nbi, atomic_fetch, atomic_fetch_add,
    atomic_fetch_add_nbi, atomic_fetch_and, atomic_fetch_and_nbi, atomic_fetch_inc, atomic_fetch_inc_nbi,
    atomic_fetch_nbi, atomic_fetch_or, atomic_fetch_or_nbi, atomic_fetch_xor, atomic_fetch_xor_nbi, atomic_inc,
    atomic_or, atomic_set, atomic_swap, atomic_swap_nbi, atomic_xor, g, get, get_nbi, ibget, ibput, iget, iput, p,
    put, put_nbi, put_signal, put_signal_nbi, signal_add, signal_fetch, signal_set, signal_wait_until, test,
    wait_until,
)
from ._locks import (
    Lock,
)
from ._names import Names as _Names
from ._reductions import (
    and_reduce, and_reduce_nb, max_reduce, max_reduce_nb, min_reduce, min_reduce_nb, or_reduce, or_reduce_nb,
    prod_reduce, prod_reduce_nb, sum_reduce, sum_reduce_nb, xor_reduce, xor_reduce_nb,
)
from ._requests import Request
from ._start import (
    finalize, global_exit, info_get_name, info_get_version, init, is_running, my_pe, n_pes, pcontrol, query_thread,
)
from ._teams import (
    TEAM_SHARED, TEAM_WORLD, Team,
)
from ._waits import (
    CMP, test_all, test_any, test_some, wait_until_all, wait_until_any, wait_until_some,
)
from ._table import CONSTANTS as _CONSTANTS

__version__ = "0.1.0"


class SIGNAL(_enum.IntEnum, metaclass=_Names):
    """What put_signal does to the signal."""

    SET = _CONSTANTS["SIGNAL_SET"]
    ADD = _CONSTANTS["SIGNAL_ADD"]


class MALLOC(_enum.IntFlag, metaclass=_Names):
    """Hints for the memory of an array."""

    ATOMICS_REMOTE = _CONSTANTS["MALLOC_ATOMICS_REMOTE"]
    SIGNAL_REMOTE = _CONSTANTS["MALLOC_SIGNAL_REMOTE"]


class THREAD(_enum.IntEnum, metaclass=_Names):
    """Levels of threads."""

    SINGLE = _CONSTANTS["THREAD_SINGLE"]
    FUNNELED = _CONSTANTS["THREAD_FUNNELED"]
    SERIALIZED = _CONSTANTS["THREAD_SERIALIZED"]
    MULTIPLE = _CONSTANTS["THREAD_MULTIPLE"]


__all__ = [
    "CMP", "CTX", "Ctx", "Lock", "MALLOC", "OP", "Request", "SIGNAL", "TEAM_SHARED", "TEAM_WORLD", "THREAD", "Team",
    "__version__", "addr_accessible", "alltoall", "alltoall_nb", "alltoalls", "and_reduce", "and_reduce_nb", "array",
    "atomic_add", "atomic_and", "atomic_compare_swap", "atomic_compare_swap_nbi", "atomic_fetch", "atomic_fetch_add",
    "atomic_fetch_add_nbi", "atomic_fetch_and", "atomic_fetch_and_nbi", "atomic_fetch_inc", "atomic_fetch_inc_nbi",
    "atomic_fetch_nbi", "atomic_fetch_or", "atomic_fetch_or_nbi", "atomic_fetch_xor", "atomic_fetch_xor_nbi",
    "atomic_inc", "atomic_or", "atomic_set", "atomic_swap", "atomic_swap_nbi", "atomic_xor", "barrier_all",
    "barrier_all_nb", "broadcast", "broadcast_nb", "collect", "collect_nb", "empty", "empty_like", "fcollect",
    "fcollect_nb", "fence", "finalize", "free", "free_dropped", "full", "g", "get", "get_nbi", "global_exit",
    "ibget", "ibput", "iget", "info_get_name", "info_get_version", "init", "iput", "is_running", "is_symmetric",
    "max_reduce", "max_reduce_nb", "min_reduce", "min_reduce_nb", "my_pe", "n_pes", "new_signal", "ones",
    "or_reduce", "or_reduce_nb", "p", "pcontrol", "pe_accessible", "pe_quiet", "prod_reduce", "prod_reduce_nb",
    "ptr", "put", "put_nbi", "put_signal", "put_signal_nbi", "query_thread", "quiet", "reduce", "reduce_nb",
    "signal_add", "signal_fetch", "signal_set", "signal_wait_until", "sum_exscan", "sum_inscan", "sum_reduce",
    "sum_reduce_nb", "sync", "sync_all", "sync_nb", "test", "test_all", "test_any", "test_some", "wait_until",
    "wait_until_all", "wait_until_any", "wait_until_some", "xor_reduce", "xor_reduce_nb", "zeros", "zeros_like",
]
