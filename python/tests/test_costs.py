"""Costs of calls, counted in instructions of Python's interpreter: a time would depend on the machine."""

import sys
import unittest
from types import FrameType
from typing import Any, Callable, List, Tuple

import numpy as np

import oxshmem as shmem

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT = (ME + 1) % PES


def run_under(install: Callable[[Any], None], before: Any, hook: Callable[[FrameType, str, Any], Any], call: Callable[[], Any]) -> None:
    """Calls while Python tells `hook` what it runs."""
    install(hook)
    try:
        call()
    finally:
        install(before)


def instructions(call: Callable[[], Any]) -> int:
    """The instructions that Python takes for a call. Those of the part in C and of numpy's are none."""
    count = 0

    def note(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return note

    call()  # the first call looks routines up
    run_under(sys.settrace, sys.gettrace(), note, call)
    return count


def functions(call: Callable[[], Any]) -> int:
    """The functions in Python that a call runs, itself among them."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    run_under(sys.setprofile, sys.getprofile(), note, call)
    return count


class Costs(unittest.TestCase):
    def test_one_number_of_any_type_takes_no_function_in_python(self) -> None:
        a = shmem.zeros(4)
        least = instructions(lambda: shmem.p(a, 1.5, NEXT)), instructions(lambda: shmem.g(a, NEXT))
        shmem.free(a)
        for kind in ("e", "f", "g", "F", "D", "?", "i1", "u8"):
            b = shmem.ones(4, dtype=kind)
            own = [1.5, 1, b.dtype.type(2), np.float32(1.5), np.int16(7), float("nan")] + [1.5j] * (b.dtype.kind == "c")
            given = [1, True] if b.dtype.kind in "biu" else own
            for value in given:
                with self.subTest(kind=kind, value=value):
                    self.assertEqual(instructions(lambda: shmem.p(b, value, NEXT)), least[0])
            if kind != "g":  # Python has no number that holds it, so numpy makes one
                with self.subTest(kind=kind):
                    self.assertEqual(instructions(lambda: shmem.g(b, NEXT)), least[1])
            shmem.barrier_all()
            shmem.free(b)

    def test_a_lock_that_no_other_thread_wants_takes_few_functions(self) -> None:
        """Each takes as long as half of the library's call."""
        lock = shmem.Lock()

        def hold() -> None:
            with lock:
                pass

        # It enters and takes, leaves and gives.
        self.assertLessEqual(functions(hold), 1 + 4)
        shmem.barrier_all()
        lock.free()

    def test_waits_for_many_take_no_instruction_for_each_element(self) -> None:
        few, many = 10, 1000
        for kind in ("i2", "u2", "i4", "u4", "i8", "u8"):
            flags = shmem.zeros(many, dtype=kind)

            def forms(number: int) -> List[Tuple[str, Callable[[], Any]]]:
                own, none, order = flags[:number], [0] * number, np.arange(2 * number)
                return [
                    ("no status", lambda: shmem.test_all(own, "==", 0)),
                    ("a list of status", lambda: shmem.test_all(own, "==", 0, status=none)),
                    ("status of int64", lambda: shmem.test_any(own, "==", 0, status=np.zeros(number, dtype="i8"))),
                    ("a list", lambda: shmem.test_all(own, "<=", order[:number].tolist())),
                    ("int64", lambda: shmem.test_all(own, "<=", order[:number])),
                    ("uint64", lambda: shmem.test_all(own, "<=", order[:number].astype("u8"))),
                    ("the other byte order", lambda: shmem.test_all(own, "<=", order[:number].astype(">i8"))),
                    ("a stride", lambda: shmem.test_all(own, "<=", order[::2])),
                    ("objects", lambda: shmem.test_all(own, "<=", order[:number].astype(object))),
                    ("indices", lambda: shmem.test_some(own, "==", 0)),
                    ("a wait for all", lambda: shmem.wait_until_all(own, "==", 0, status=none)),
                    ("a wait for any", lambda: shmem.wait_until_any(own, "==", 0, status=none)),
                    ("a wait for some", lambda: shmem.wait_until_some(own, "==", 0, status=none)),
                ]

            for (form, short), (_, long) in zip(forms(few), forms(many)):
                with self.subTest(kind=kind, form=form):
                    # Numpy takes some more instructions for some arrays than for others.
                    self.assertLess(instructions(long), instructions(short) + few)
            shmem.free(flags)

    def test_a_wait_for_one_number_makes_no_array_of_it(self) -> None:
        flags, none = shmem.zeros(8, dtype=int), np.zeros(8, dtype=int)
        one, each = instructions(lambda: shmem.test_all(flags, "==", 0)), instructions(lambda: shmem.test_all(flags, "==", none))
        self.assertLess(one, each)
        shmem.free(flags)

    def test_a_quiet_of_some_pes_takes_no_instruction_for_each(self) -> None:
        lists: List[Any] = [[NEXT], (NEXT,), np.array([NEXT])]
        for pes in lists:
            many: Any = np.repeat(pes, 1000) if isinstance(pes, np.ndarray) else pes * 1000
            with self.subTest(pes=pes):
                self.assertEqual(instructions(lambda: shmem.pe_quiet(many)), instructions(lambda: shmem.pe_quiet(pes)))


if __name__ == "__main__":
    unittest.main()
