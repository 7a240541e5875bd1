"""Threads of Python that call at once; with a build without Python's lock they run at once, too."""

import os
import signal
import sys
import threading
import time
import unittest
from types import FrameType
from typing import Any, Callable, List
from unittest import mock

import numpy as np

import oxshmem as shmem
from oxshmem import _contexts, _core, _locks, _start, shmem4py

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


def until(is_so: Callable[[], Any]) -> None:
    """Waits for what another thread does. A thread that never does it is a failure."""
    end = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("the other thread has not got there")
        time.sleep(0.001)


class Interruption(Exception):
    """A handler of a signal raises it."""


def interrupt(*_: Any) -> None:
    raise Interruption


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


class Locks(unittest.TestCase):
    """A lock of the library belongs to a PE, and threads of a PE take turns."""

    def setUp(self) -> None:
        self.lock = shmem.Lock()
        self.addCleanup(self.lock.free)
        self.addCleanup(shmem.barrier_all)

    def begin(self, work: Callable[[], Any]) -> threading.Thread:
        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)
        return thread

    def waiting(self) -> int:
        return len(self.lock._turns.queue)

    def test_one_thread_of_one_pe_has_a_lock(self) -> None:
        word, total = shmem4py.new_lock(), shmem.zeros(2, dtype=int)

        def count(number: int) -> None:
            view = word[:] if number % 2 else word.view(np.uint64)  # two arrays, and one lock
            for _ in range(ROUNDS):
                with self.lock:
                    shmem.p(total, shmem.g(total, 0) + 1, 0)
                shmem4py.set_lock(view)
                shmem.p(total, shmem.g(total, 0, index=1) + 1, 0, index=1)
                shmem4py.clear_lock(view)

        together(count)
        shmem.barrier_all()
        self.assertEqual([shmem.g(total, 0, index=i) for i in range(2)], [ROUNDS * THREADS * PES] * 2)
        shmem.barrier_all()
        for array in (word, total):
            shmem.free(array)

    def test_threads_get_a_lock_in_the_order_in_which_they_ask(self) -> None:
        order: List[int] = []

        def ask(number: int) -> None:
            with self.lock:
                order.append(number)

        with self.lock:
            threads = []
            for number in range(THREADS):
                threads.append(self.begin(lambda number=number: ask(number)))  # type: ignore[misc]
                until(lambda: self.waiting() == number + 1)
            self.assertEqual(order, [])
        for thread in threads:
            thread.join()
        self.assertEqual(order, list(range(THREADS)))

    def test_a_lock_of_another_thread_is_not_free_and_each_may_release_it(self) -> None:
        got: List[bool] = []

        def release() -> None:
            got.append(self.lock.acquire(blocking=False))
            until(lambda: self.waiting() == 1)
            self.lock.release()

        with self.lock:
            thread = self.begin(release)
            self.lock.acquire()  # until the other thread has released it
            thread.join()
        self.assertEqual(got, [False])
        with self.assertRaisesRegex(RuntimeError, "does not hold the lock"):
            self.lock.release()

    def test_an_exception_ends_the_wait_for_another_thread(self) -> None:
        has_taken, may_go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with self.lock:
                has_taken.set()
                until(lambda: self.waiting() == 1)
                os.kill(os.getpid(), signal.SIGUSR1)
                may_go_on.wait(60)

        outer = signal.signal(signal.SIGUSR1, interrupt)
        try:
            thread = self.begin(hold)
            has_taken.wait(60)
            with self.assertRaises(Interruption):
                self.lock.acquire()
            self.assertEqual((self.waiting(), self.lock.acquire(blocking=False)), (0, False))
        finally:
            may_go_on.set()
            signal.signal(signal.SIGUSR1, outer)
        thread.join()
        with self.lock:
            pass

    def test_a_handler_that_raises_at_the_end_of_acquire_leaves_the_lock_free(self) -> None:
        """It runs when the call of the library has ended, and the PE has the lock."""
        flag, came = shmem.zeros(1, dtype=int), []  # type: Any, List[int]

        def interrupt_and_tell() -> None:
            until(lambda: self.lock._turns.holder)
            os.kill(os.getpid(), signal.SIGUSR1)
            until(lambda: came)
            shmem.p(flag, 1, 0)

        if ME == 0:
            self.lock.acquire()
        shmem.barrier_all()
        if ME == 0 and PES > 1:
            shmem.wait_until(flag, "==", 1)
            self.lock.release()
        if ME == 1:
            # The library hears of the signal at once, and Python's handler runs when the call has ended.
            receiving, sending = os.pipe()
            os.set_blocking(sending, False)
            outer, outer_pipe = signal.signal(signal.SIGUSR1, interrupt), signal.set_wakeup_fd(sending)
            reader = self.begin(lambda: came.append(os.read(receiving, 1)[0]))
            try:
                self.begin(interrupt_and_tell)
                with self.assertRaises(Interruption):
                    self.lock.acquire()
            finally:
                signal.set_wakeup_fd(outer_pipe)
                signal.signal(signal.SIGUSR1, outer)
            reader.join()
            os.close(receiving)
            os.close(sending)
        if ME == 0 and PES == 1:
            self.lock.release()
        with self.lock:  # all PEs get it
            pass
        shmem.barrier_all()
        shmem.free(flag)

    def interrupted_at(self, place: int, call: Callable[[], Any]) -> bool:
        """Calls; a handler raises before that instruction of Python in the module of locks. Whether there are so many."""
        left = place

        def count(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left
            if frame.f_code.co_filename != _locks.__file__:
                return None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if left == -1:
                signal.raise_signal(signal.SIGUSR1)
            return count

        outer, handler = sys.gettrace(), signal.signal(signal.SIGUSR1, interrupt)
        sys.settrace(count)
        try:
            call()
        except Interruption:
            pass
        finally:
            sys.settrace(outer)
            signal.signal(signal.SIGUSR1, handler)
        return left < 0

    def others_get_it(self, is_wanted: bool = False) -> Callable[[], None]:
        """Another thread asks for the lock, at once if it waits for it. The function says whether it gets it."""
        got: List[bool] = []

        def take() -> None:
            got.append(self.lock.acquire(blocking=is_wanted))
            if got[0]:
                self.lock.release()

        def see() -> None:
            if not is_wanted:
                other.start()
            other.join(60)
            self.assertEqual((got, self.waiting()), ([True], 0))

        other = threading.Thread(target=take)
        if is_wanted:
            other.start()
            until(lambda: self.waiting() == 1)
        return see

    def at_each_place(self, once: Callable[[int], bool]) -> None:
        """Does it on one PE after the other for the first place in a call, the second, and so on."""
        def hold() -> None:
            with self.lock:
                pass

        for pe in range(PES):
            with mock.patch.object(_locks, "_LOOK", 0.01):
                if ME == pe:
                    self.interrupted_at(sys.maxsize, hold)  # Python 3.12 tells of instructions from the second time on
                    place = 0
                    while once(place):
                        place += 1
                    self.assertGreater(place, 10)
            shmem.barrier_all()

    def test_a_handler_that_raises_anywhere_in_release_loses_no_lock(self) -> None:
        """The lock is held as before, and may be released again, or others get it."""
        turns, release = self.lock._turns, self.lock.release
        for is_wanted in (False, True):
            held: List[bool] = []

            def once(place: int) -> bool:
                self.lock.acquire()
                mine, see = turns.holder["turn"], self.others_get_it(is_wanted)
                is_interrupted = self.interrupted_at(place, release)
                held.append(turns.holder.get("turn") is mine)
                if held[-1]:
                    release()
                see()
                return is_interrupted

            self.at_each_place(once)
            # First come the instructions before the lock is given back, and then those behind it.
            self.assertEqual((held, len(set(held))), (sorted(held, reverse=True), 2))

    def test_a_handler_that_raises_anywhere_in_acquire_leaves_the_lock_as_it_was_or_held(self) -> None:
        def free(place: int, blocking: bool = True) -> bool:
            is_interrupted = self.interrupted_at(place, lambda: self.lock.acquire(blocking))
            if self.lock._turns.taken:
                self.lock.release()
            self.others_get_it()()
            return is_interrupted

        def wait(place: int) -> bool:
            has_taken, may_release = threading.Event(), threading.Event()

            def hold() -> None:
                with self.lock:
                    has_taken.set()
                    until(lambda: self.waiting() == 1 or may_release.is_set())

            thread = self.begin(hold)
            has_taken.wait(60)
            try:
                return self.interrupted_at(place, self.lock.acquire)
            finally:
                may_release.set()
                thread.join()
                if self.lock._turns.taken:
                    self.lock.release()
                self.others_get_it()()

        for once in (free, lambda place: free(place, blocking=False), wait):
            self.at_each_place(once)

    def test_a_forked_child_is_told_so_where_another_thread_has_the_lock(self) -> None:
        has_taken, may_release = threading.Event(), threading.Event()

        def hold() -> None:
            with self.lock:
                has_taken.set()
                may_release.wait(60)

        thread = self.begin(hold)
        has_taken.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                self.lock.acquire()
            except RuntimeError as error:
                os._exit(7 if "this is a forked child" in str(error) else 1)
            os._exit(2)
        _, status = os.waitpid(child, 0)
        may_release.set()
        thread.join()
        self.assertEqual(os.WEXITSTATUS(status), 7)


if __name__ == "__main__":
    unittest.main()
