"""The library's life: it begins at the first call that needs it and ends with the process."""

from __future__ import annotations

import contextlib
import ctypes
import operator
import os
import signal
import stat
import sys
import threading
import traceback
import weakref
from types import TracebackType
from typing import Any, Callable, List, NoReturn, Optional, Tuple, Type, TypeVar

import numpy as np

from . import _core
from ._table import CONSTANTS

MULTIPLE: int = CONSTANTS["THREAD_MULTIPLE"]

_lock = threading.RLock()
_state = "before"
_registered = False
# In a forked child: the number of the PE that it comes from, and the number of PEs.
_parent = (0, 0)
_level = MULTIPLE
# Where the files of this module are.
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
# A PE tells here which process it is, of which job, and by which socket. A process that it starts has the same words in its environment.
_MARK = "OXSHMEM_PYTHON_PE"
# Variables by which launchers tell a process its job.
_JOINED_BY = ("OXSHMEM_JOB", "PMI_FD", "PMI_PORT", "PMIX_NAMESPACE")
# Arrays of operations that go on outside of contexts, each with the PE of its operation.
kept: List[Any] = []
# Streams of contexts that the program has dropped, with arrays of operations that may go on: see `_contexts.end_dropped`.
dropped_streams: List[Any] = []
# Arrays of collectives that may go on and whose requests the program has dropped: see `_requests.end_dropped`.
dropped_requests: List[Any] = []
# Python's own end drops contexts before the library completes their operations, so these lists outlive all modules.
for _outliving in (dropped_streams, dropped_requests):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_outliving))
# Other parts of the module have something to do when the library has begun, before it ends, and when it has ended.
after_begin: List[Callable[[], None]] = []
before_end: List[Callable[[], None]] = []
after_end: List[Callable[[], None]] = []
# Contexts, teams, locks and requests of this life of the library, by their identity.
of_this_life: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()


_Self = TypeVar("_Self")


class InProcess:
    """An object that stands for one of the library in this process. A second object would end that once more, and another process has
    something else at its address."""

    __slots__ = ()

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: Any) -> _Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"oxshmem.{type(self).__name__}: this object stands for one of the library in this process, so pickle cannot send "
                        "it: send numbers of PEs, and let each PE make its own")


def address(name: str) -> int:
    """The address of a routine or an object of the library."""
    found = _core.symbol(name)
    if not found:
        raise AttributeError(f"the library has no {name}")
    return found


def integer(number: Any, routine: str, argument: str) -> int:
    """A whole number."""
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{routine}: {argument} is {number!r}; it is a whole number") from None


def c_int(number: Any, routine: str, argument: str) -> int:
    """A whole number that the library takes as an int of C, whose upper half it would not see."""
    whole = integer(number, routine, argument)
    if not -2**31 <= whole < 2**31:
        raise OverflowError(f"{routine}: {argument} is {number}, which does not fit int32, the type that the library takes")
    return whole


TEAM_WORLD = address("oxshmem_team_world")
TEAM_SHARED = address("oxshmem_team_shared")
CTX_DEFAULT = address("oxshmem_context_default")


def init(threads: int = MULTIPLE) -> int:
    """Begins the library on all PEs, and returns the level of threads. Without it the first call that needs the library does so.
    After `finalize` it begins the library anew and empty: calls with arrays, teams and contexts of the time before raise errors.

    >>> shmem.init()
    """
    global _state, _level, _registered, _parent
    if c_int(threads, "init", "the level of threads") not in range(MULTIPLE + 1):
        raise ValueError(f"init: there is no level of threads {threads}: levels are oxshmem.THREAD.SINGLE, FUNNELED, SERIALIZED "
                         "and MULTIPLE")
    with _lock:
        if _state == "running":
            return _level
        _refuse_process_of_pe()
        library = _core.library
        # Programs need not free arrays, and may read them after the end, as long as they have them.
        library.oxshmem_heap_is_collected()
        _level = _core.begin_library(int(threads))
        _state = "running"
        _read_environment_again()
        # By their profiling names: a profile has the calls of the program.
        me, pes = library.pshmem_my_pe(), library.pshmem_n_pes()
        number = library.pshmem_team_translate_pe
        number.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        near = bytes(number(TEAM_WORLD, pe, TEAM_SHARED) >= 0 for pe in range(pes))
        _core.started(me, pes, near)
        for prepare in after_begin:
            prepare()
        _parent = (me, pes)
        if not _registered:
            _registered = True
            _core.finalize_at_exit()
            os.register_at_fork(after_in_child=_in_child)
        # Python's handler runs in waits for variables alone, and would keep Ctrl-C from ending the program in a
        # barrier, say. The only PE of a job waits for no other one there.
        if pes > 1 and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _in_one_piece
        return _level


def _connection() -> str:
    """Which socket leads to the launcher, if this process has one."""
    try:
        found = os.fstat(int(os.environ["PMI_FD"]))
    except (KeyError, ValueError, OverflowError, OSError):
        return ""
    return str(found.st_ino) if stat.S_ISSOCK(found.st_mode) else ""


def _refuse_process_of_pe() -> None:
    """A process that a PE has started has the variables of the PE's job, and the library would take the place of that PE. Those of a job
    of its own differ: a launcher has set its own, or handed on a socket of its own under the same number."""
    if not os.environ.get("OXSHMEM_JOB"):
        return
    job, connection = " ".join(f"{name}={os.environ.get(name, '')}" for name in _JOINED_BY), _connection()
    # A process may have none of the PE's descriptors.
    pe, known, its_job = (os.environ.get(_MARK, "").split(" ", 2) + ["", ""])[:3]
    is_job_of_pe = its_job == job and connection in ("", known)
    is_alone = os.environ.get("SHMEM_SINGLETON", "").strip().lower() not in ("", "0", "n", "no", "f", "false", "off")
    if is_job_of_pe and not is_alone and pe != str(os.getpid()):
        raise RuntimeError("the library cannot begin in this process. A process that a PE has started is no PE: do the work in the PE, "
                           "or in a forked process that makes no calls of oxshmem. A process of multiprocessing that is not forked runs "
                           "the program's file: keep what it runs there free of oxshmem by `if __name__ == \"__main__\":`. A process that "
                           "is to be a job of its own needs SHMEM_SINGLETON=1, or a launcher")
    os.environ[_MARK] = f"{os.getpid()} {connection} {job}"


def _read_environment_again() -> None:
    """The part of the library that records has changed a variable for processes that this one starts. They may get `os.environ`, which
    Python has read at its own beginning."""
    getenv = ctypes.pythonapi["getenv"]
    getenv.argtypes, getenv.restype = [ctypes.c_char_p], ctypes.c_char_p
    for name in [name for name in os.environ if name.startswith("OXSHMEM_")]:
        value = getenv(os.fsencode(name))
        if value is not None and value != os.fsencode(os.environ[name]):
            os.environ[name] = os.fsdecode(value)


def _in_one_piece(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    """Writes a traceback at once: Python writes line by line, so lines of several PEs would mix. It ends at the program's own line."""
    _end_at_program(error, trace)
    screen = sys.__stderr__
    if screen is None or sys.stderr is not screen:  # the program reads it itself
        sys.__excepthook__(kind, error, trace)
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    text = "".join(traceback.format_exception(kind, error, trace))
    screen.flush()
    os.write(screen.fileno(), text.encode(errors="backslashreplace"))


def _end_at_program(error: BaseException, trace: Optional[TracebackType]) -> None:
    """Cuts the module's own frames off the end of a traceback, where the module has refused what the program passed."""
    last = None
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_FOLDER):
            last = trace
        trace = trace.tb_next
    if last is not None and isinstance(error, (MemoryError, RuntimeError, TypeError, ValueError)):
        last.tb_next = None


def _in_child() -> None:
    """A forked child is no PE: from now on its calls raise. It takes no lock, which a thread of the PE may have had."""
    global _state
    if _state == "running":
        _state = "forked"
        _core.started()


def _first_call() -> None:
    if _state == "forked":
        raise RuntimeError(f"this is a forked child of PE {_parent[0]}, which makes no calls of oxshmem: let it compute, and transfer "
                           "in the PE itself")
    with _lock:  # another thread may be beginning it
        if _state == "before":
            init()


def finalize() -> None:
    """Ends the library on all PEs. The end of a program that succeeds does so by itself. Arrays can still be read afterwards. While an
    exception is handled, as in `finally`, it does nothing, because it would wait for all PEs.

    >>> shmem.finalize()
    """
    global _state
    with _lock:
        if _state == "running" and sys.exc_info()[0] is None:
            for prepare in before_end:
                prepare()
            _core.call(address("shmem_finalize"), "n")
            _core.started()
            _state = "after"
            kept.clear()
            dropped_requests.clear()
            dropped_streams.clear()  # of what another thread has dropped meanwhile
            for owner in list(of_this_life.values()):
                owner._end()
            for forget in after_end:
                forget()


def until_end(owner: Any) -> None:
    """Notes an object whose `_end` is to be called when the library has ended, and the object of the library with it."""
    of_this_life[id(owner)] = owner


def global_exit(status: int = 0) -> NoReturn:
    """Ends all PEs with this status. What this PE has printed is written before.

    >>> shmem.global_exit(3)
    """
    number = c_int(status, "global_exit", "the status")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
                stream.flush()
    _core.call(address("shmem_global_exit"), "n", number)
    os._exit(status)


def is_running() -> bool:
    """Whether the library has begun and not ended."""
    return _state == "running"


def query_thread() -> int:
    """The level of threads that the library has begun with."""
    _core.call(_MY_PE, "I")
    return _level


def my_pe() -> int:
    """The number of this PE; in a forked child, of the PE that it comes from.

    >>> shmem.my_pe()
    """
    number: int = _parent[0] if _state == "forked" else _core.call(_MY_PE, "I")
    return number


def n_pes() -> int:
    """The number of PEs.

    >>> shmem.n_pes()
    """
    number: int = _parent[1] if _state == "forked" else _core.call(_N_PES, "I")
    return number


def info_get_version() -> Tuple[int, int]:
    """The version of the standard."""
    return CONSTANTS["MAJOR_VERSION"], CONSTANTS["MINOR_VERSION"]


def info_get_name() -> str:
    """The name and version of the library."""
    name = ctypes.create_string_buffer(CONSTANTS["MAX_NAME_LEN"])
    _core.library.shmem_info_get_name(name)
    return name.value.decode()


def pcontrol(level: int = 1) -> None:
    """Controls a profile: 0 pauses it, 1 resumes it.

    >>> shmem.pcontrol(0)
    """
    _core.call(address("shmem_pcontrol"), "N", c_int(level, "pcontrol", "the level"))


def _to_bytes(value: Any, array: Any) -> bytes:
    """One element for `p`, which alone takes the types that the part in C does not know, and numbers that it leaves to numpy."""
    kind = np.asarray(array).dtype
    with np.errstate(over="ignore"):
        given = np.asarray(value, dtype=kind)
    if kind.kind in "fc" and np.isinf(given).any() and not np.isinf(np.asarray(value, dtype="g" if kind.kind == "f" else "G")).any():
        raise OverflowError(f"p: the value {value!r} does not fit {kind}")
    return given.tobytes()


def _from_bytes(data: bytes, array: Any) -> Any:
    return np.frombuffer(data, array.dtype if isinstance(array, np.ndarray) else np.asarray(array).dtype)[0]


_MY_PE = address("shmem_my_pe")
_N_PES = address("shmem_n_pes")
_core.prepare(_first_call, _to_bytes, _from_bytes, kept)
