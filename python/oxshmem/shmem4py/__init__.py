"""shmem4py's names, so that its programs run with one changed line:

    from oxshmem import shmem4py as shmem      # was: from shmem4py import shmem

or, where they import more than that, `from oxshmem.shmem4py import shmem, rc`.
"""

import sys as _sys

from .. import (
    addr_accessible, barrier_all, finalize, global_exit, info_get_name, info_get_version, my_pe, n_pes, pcontrol,
    pe_accessible, signal_fetch, signal_wait_until, sync, sync_all, test, test_all, test_any, test_some, wait_until,
    wait_until_all, wait_until_any, wait_until_some,
)
from ._atomics import (
    atomic_add, atomic_and, atomic_compare_swap, atomic_compare_swap_nbi, atomic_fetch, atomic_fetch_add,
    atomic_fetch_add_nbi, atomic_fetch_and, atomic_fetch_and_nbi, atomic_fetch_inc, atomic_fetch_inc_nbi,
    atomic_fetch_nbi, atomic_fetch_op, atomic_fetch_op_nbi, atomic_fetch_or, atomic_fetch_or_nbi, atomic_fetch_xor,
    atomic_fetch_xor_nbi, atomic_inc, atomic_op, atomic_or, atomic_set, atomic_swap, atomic_swap_nbi, atomic_xor,
)
from ._calls import (
    _getbuffer, alloc, array, del_array, del_lock, del_signal, empty, free, fromalloc, full, get, get_nbi, iget,
    init, init_thread, iput, new_array, new_lock, new_signal, ones, ptr, put, put_nbi, put_signal, put_signal_nbi,
    query_thread, zeros,
)
from ._objects import (
    AMO, CMP, CTX, CTX_DEFAULT, CTX_INVALID, Ctx, MALLOC, OP, SIGNAL, TEAM_INVALID, TEAM_SHARED, TEAM_WORLD, THREAD,
    Team, ffi, lib, rc,
)
from ._together import (
    Lock, alltoall, alltoalls, and_reduce, broadcast, clear_lock, collect, fcollect, fence, max_reduce, min_reduce,
    or_reduce, prod_reduce, quiet, reduce, set_lock, sum_reduce, test_all_vector, test_any_vector, test_lock,
    test_some_vector, wait_until_all_vector, wait_until_any_vector, wait_until_some_vector, xor_reduce,
)

MAJOR_VERSION, MINOR_VERSION = info_get_version()
VENDOR_STRING = info_get_name()
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = (
    THREAD.SINGLE, THREAD.FUNNELED, THREAD.SERIALIZED, THREAD.MULTIPLE
)
CTX_PRIVATE, CTX_SERIALIZED, CTX_NOSTORE = CTX.PRIVATE, CTX.SERIALIZED, CTX.NOSTORE
MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE = MALLOC.ATOMICS_REMOTE, MALLOC.SIGNAL_REMOTE
AMO_SET, AMO_INC, AMO_ADD, AMO_AND, AMO_OR, AMO_XOR = AMO.SET, AMO.INC, AMO.ADD, AMO.AND, AMO.OR, AMO.XOR
SIGNAL_SET, SIGNAL_ADD = SIGNAL.SET, SIGNAL.ADD
OP_AND, OP_OR, OP_XOR, OP_MAX, OP_MIN, OP_SUM, OP_PROD = OP.AND, OP.OR, OP.XOR, OP.MAX, OP.MIN, OP.SUM, OP.PROD
CMP_EQ, CMP_NE, CMP_GT, CMP_LE, CMP_LT, CMP_GE = CMP.EQ, CMP.NE, CMP.GT, CMP.LE, CMP.LT, CMP.GE

# The module of that name in shmem4py's package.
shmem = _sys.modules[__name__]
_sys.modules[__name__ + ".shmem"] = shmem

__all__ = [
    "AMO", "AMO_ADD", "AMO_AND", "AMO_INC", "AMO_OR", "AMO_SET", "AMO_XOR", "CMP", "CMP_EQ", "CMP_GE", "CMP_GT",
    "CMP_LE", "CMP_LT", "CMP_NE", "CTX", "CTX_DEFAULT", "CTX_INVALID", "CTX_NOSTORE", "CTX_PRIVATE",
    "CTX_SERIALIZED", "Ctx", "Lock", "MAJOR_VERSION", "MALLOC", "MALLOC_ATOMICS_REMOTE", "MALLOC_SIGNAL_REMOTE",
    "MINOR_VERSION", "OP", "OP_AND", "OP_MAX", "OP_MIN", "OP_OR", "OP_PROD", "OP_SUM", "OP_XOR", "SIGNAL",
    "SIGNAL_ADD", "SIGNAL_SET", "TEAM_INVALID", "TEAM_SHARED", "TEAM_WORLD", "THREAD", "THREAD_FUNNELED",
    "THREAD_MULTIPLE", "THREAD_SERIALIZED", "THREAD_SINGLE", "Team", "VENDOR_STRING", "addr_accessible", "alloc",
    "alltoall", "alltoalls", "and_reduce", "array", "atomic_add", "atomic_and", "atomic_compare_swap",
    "atomic_compare_swap_nbi", "atomic_fetch", "atomic_fetch_add", "atomic_fetch_add_nbi", "atomic_fetch_and",
    "atomic_fetch_and_nbi", "atomic_fetch_inc", "atomic_fetch_inc_nbi", "atomic_fetch_nbi", "atomic_fetch_op",
    "atomic_fetch_op_nbi", "atomic_fetch_or", "atomic_fetch_or_nbi", "atomic_fetch_xor", "atomic_fetch_xor_nbi",
    "atomic_inc", "atomic_op", "atomic_or", "atomic_set", "atomic_swap", "atomic_swap_nbi", "atomic_xor",
    "barrier_all", "broadcast", "clear_lock", "collect", "del_array", "del_lock", "del_signal", "empty", "fcollect",
    "fence", "ffi", "finalize", "free", "fromalloc", "full", "get", "get_nbi", "global_exit", "iget",
    "info_get_name", "info_get_version", "init", "init_thread", "iput", "lib", "max_reduce", "min_reduce", "my_pe",
    "n_pes", "new_array", "new_lock", "new_signal", "ones", "or_reduce", "pcontrol", "pe_accessible", "prod_reduce",
    "ptr", "put", "put_nbi", "put_signal", "put_signal_nbi", "query_thread", "quiet", "rc", "reduce", "set_lock",
    "shmem", "signal_fetch", "signal_wait_until", "sum_reduce", "sync", "sync_all", "test", "test_all",
    "test_all_vector", "test_any", "test_any_vector", "test_lock", "test_some", "test_some_vector", "wait_until",
    "wait_until_all", "wait_until_all_vector", "wait_until_any", "wait_until_any_vector", "wait_until_some",
    "wait_until_some_vector", "xor_reduce", "zeros",
]
