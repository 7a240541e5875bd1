"""Threads of Python that call at once; with a build without Python's lock they run at once, too."""

import sys
import threading
import time
import unittest
from typing import Any, Callable, List
from unittest import mock

import numpy as np

import oxshmem as shmem
from oxshmem import _contexts, _core, _start

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT = (ME + 1) % PES
THREADS, ROUNDS = 4, 200


def together(work: Callable[[int], None]) -> None:
    """Runs it in several threads, which begin at one time and change often; raises what one of them raised."""
    gate, raised = threading.Barrier(THREADS), []  # type: threading.Barrier, List[BaseException]

    def run(number: int) -> None:
        try:
            gate.wait()
            work(number)
        except BaseException as error:
            raised.append(error)

    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(often)
    if raised:
        raise raised[0]


class _Watched:
    """The default context, which notes at each look at its list whether the operation has begun."""

    def __init__(self, has_begun: Callable[[], bool]) -> None:
        self._handle, self._pes, self._list = _start.CTX_DEFAULT, PES, []  # type: int, int, List[Any]
        self._has_begun, self.noted = has_begun, []  # type: Callable[[], bool], List[bool]

    @property
    def _kept(self) -> List[Any]:
        self.noted.append(self._has_begun())
        return self._list


class Threads(unittest.TestCase):
    def test_counting_together(self) -> None:
        total = shmem.zeros(THREADS + 1, dtype=int)

        def count(number: int) -> None:
            for _ in range(ROUNDS):
                shmem.atomic_add(total, 1, 0, index=number)
                shmem.atomic_fetch_inc(total, 0, index=THREADS)

        together(count)
        shmem.barrier_all()
        self.assertEqual([shmem.g(total, 0, index=i) for i in range(THREADS + 1)],
                         [ROUNDS * PES] * THREADS + [ROUNDS * PES * THREADS])
        shmem.barrier_all()
        shmem.free(total)

    def test_each_with_a_context(self) -> None:
        rows = shmem.zeros((THREADS, 1000))
        shmem.barrier_all()

        def send(number: int) -> None:
            with shmem.Ctx() as ctx:
                for round in range(ROUNDS):
                    shmem.put_nbi(rows[number], np.full(1000, float(round)), NEXT, ctx=ctx)
                    ctx.quiet()
                    back = np.zeros(1000)
                    shmem.get_nbi(back, rows[number], NEXT, ctx=ctx)
                    ctx.quiet()
                    self.assertTrue((back == round).all(), back)

        together(send)
        shmem.barrier_all()
        self.assertTrue((rows == ROUNDS - 1).all())
        shmem.free(rows)

    def test_all_in_one_context(self) -> None:
        rows = shmem.zeros((THREADS, 2000))
        shmem.barrier_all()

        def send(number: int) -> None:
            for round in range(ROUNDS):
                shmem.put_nbi(rows[number], np.full(2000, float(round)), NEXT)  # nobody else holds the source
                shmem.quiet()

        together(send)
        shmem.barrier_all()
        self.assertTrue((rows == ROUNDS - 1).all())
        self.assertEqual(_start.kept, [])
        shmem.free(rows)

    def test_a_quiet_holds_what_begins_beside_it(self) -> None:
        rows, call = shmem.zeros((3, 10)), _core.call

        def beside(routine: int, result: str, *arguments: Any) -> Any:
            """The routine; at the first time other threads begin and complete operations before it is called."""
            routines, patched.call = patched.call, call
            shmem.quiet()
            shmem.put_nbi(rows[1], np.ones(10), NEXT)
            shmem.put_nbi(rows[2], np.ones(10), NEXT)
            done = call(routine, result, *arguments)
            del routines
            return done

        for complete in (shmem.quiet, shmem.barrier_all):
            shmem.put_nbi(rows[0], np.ones(10), NEXT)
            with mock.patch.object(_contexts, "_core") as patched:
                patched.call = beside
                complete()
            self.assertEqual(len(_start.kept), 2, complete)
            shmem.quiet()
            self.assertEqual(_start.kept, [])
        shmem.barrier_all()
        shmem.free(rows)

    def test_who_gives_memory_back_waits_for_a_context_that_ends(self) -> None:
        call, ctx = _core.call, shmem.Ctx()
        could_go_on: List[bool] = []

        def ask() -> None:
            could_go_on.append(_contexts._ending.acquire(blocking=False))

        def end(routine: int, result: str, *arguments: Any) -> Any:
            """The routine; before it another thread asks whether it may complete contexts."""
            asking = threading.Thread(target=ask)
            asking.start()
            asking.join()
            return call(routine, result, *arguments)

        with mock.patch.object(_contexts, "_core") as patched:
            patched.call = end
            ctx.destroy()
        self.assertEqual(could_go_on, [False])

    def test_an_array_is_held_from_the_beginning_of_its_operation(self) -> None:
        a, was = shmem.zeros(1, dtype=int), np.zeros(1, dtype=int)
        # On the own PE an operation is done when its call returns.
        ctx = _Watched(lambda: a[0] == 1)
        shmem.put_nbi(a, np.ones(1, dtype=int), ME, ctx=ctx)  # type: ignore[arg-type]
        self.assertEqual(ctx.noted, [True])
        ctx = _Watched(lambda: a[0] == 3)
        shmem.atomic_fetch_add_nbi(was, a, 2, ME, ctx=ctx)  # type: ignore[arg-type]
        self.assertEqual((ctx.noted, was[0]), ([True], 1))
        shmem.free(a)

    def test_others_run_while_a_call_goes_to_another_node_by_a_number_of_a_team(self) -> None:
        """A team of all PEs in another order: PEs that are far have numbers that near ones have in the world."""
        a, gate, ran = shmem.zeros(1), threading.Lock(), []  # type: Any, threading.Lock, List[int]
        team = shmem.TEAM_WORLD.split(0, key=-ME)
        far = [pe for pe in range(PES) if team.translate_pe(pe, shmem.TEAM_SHARED) < 0 <= shmem.TEAM_WORLD.translate_pe(pe, shmem.TEAM_SHARED)]

        def note() -> None:
            with gate:
                ran.append(ME)

        gate.acquire()
        thread = threading.Thread(target=note)
        thread.start()
        time.sleep(0.05)  # it waits at the gate
        often = sys.getswitchinterval()
        sys.setswitchinterval(60)  # from now on it runs only where a call lets it
        gate.release()
        end = time.monotonic() + 10
        with team.create_ctx() as ctx:
            while far and not ran and time.monotonic() < end:
                shmem.g(a, far[0], ctx=ctx)
        has_run = bool(ran)
        sys.setswitchinterval(often)
        thread.join()
        team.destroy()
        shmem.free(a)
        self.assertTrue(has_run or not far)

    def test_the_first_calls_of_threads(self) -> None:
        """What threads look up at their first calls is the same for all."""
        kinds = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "F", "D"]
        arrays = [[shmem.zeros(THREADS, dtype=kind) for kind in kinds] for _ in range(2)]

        def touch(number: int) -> None:
            for plain, strided in zip(*arrays):
                shmem.p(plain, 1, NEXT, index=number)
                shmem.iput(strided[number:number + 1], np.ones(1, dtype=strided.dtype), NEXT, dst=1, sst=1, nelems=1)

        together(touch)
        shmem.barrier_all()
        for array in (*arrays[0], *arrays[1]):
            self.assertTrue((array == 1).all(), array.dtype)
            shmem.free(array)


if __name__ == "__main__":
    unittest.main()
