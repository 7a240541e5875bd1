"""Ends: contexts that the program drops, whose operations go on; and what another life of the library finds."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import weakref
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

import oxshmem as shmem
from oxshmem import _requests, _start, shmem4py

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT, LAST = (ME + 1) % PES, (ME - 1) % PES
LONG = 1 << 18

# Things of a first life, of which a second one must use none.
AGAIN = """import threading, time
import oxshmem as shmem
from oxshmem import shmem4py
import numpy as np
me, pes = shmem.my_pe(), shmem.n_pes()
old, word, lock, ctx = shmem.full(1000, me + 1.0), shmem4py.new_lock(), shmem.Lock(), shmem.Ctx()
team, other = shmem.TEAM_WORLD.split_strided(0, 1, pes), shmem4py.Ctx.create()
shmem.free_dropped()
pending, dropped = shmem.sum_reduce_nb(shmem.zeros(1000), old), shmem.zeros(7)
shmem.put_nbi(old, np.ones(1000), me, ctx=ctx)
shmem.barrier_all()
del dropped
stopped, mine = [], [shmem.Lock() for _ in range(pes)][me]
def ask():
    try:
        mine.acquire()
    except RuntimeError as error:
        stopped.append(str(error))
mine.acquire()
waiting = threading.Thread(target=ask)
waiting.start()
while not mine._turns.queue:
    time.sleep(0.001)
shmem.finalize()
waiting.join()
assert stopped == ["Lock.acquire: finalize() has ended this lock: make another one"], stopped
assert not shmem.is_running() and not ctx and not other and not team and old.size == 1000
shmem.init()
assert shmem.is_running() and (shmem.my_pe(), shmem.n_pes()) == (me, pes) and pending.test() and shmem4py.CTX_DEFAULT
new = [shmem.full(1000, float(i)) for i in range(70)]  # more than allocations make without a sweep
for call in (lambda: shmem.free(old), lambda: shmem.put(old, np.ones(1000), me), lambda: shmem.g(old, me),
             lambda: shmem.sum_reduce(old, old), lambda: lock.acquire(), lambda: lock.free(), lambda: team.my_pe(),
             lambda: shmem.put(new[0], np.ones(1000), me, ctx=ctx), lambda: shmem4py.set_lock(word),
             lambda: shmem.put(new[0], np.ones(1000), me, ctx=other), lambda: shmem4py.quiet(other)):
    try:
        call()
    except (RuntimeError, ValueError):
        continue
    raise SystemExit("a thing of the first life was used")
try:
    shmem.put(old, np.ones(1000), me)
except ValueError as error:
    assert str(error) == "put: dest: finalize() has ended the memory of this array: make it again after init()", error
assert not shmem.is_symmetric(old) and old.sum() == 1000
for thing in (team, ctx, other):
    thing.destroy()
del old, word, lock, ctx, team, other, thing, pending
assert shmem.free_dropped() == 0
assert [row[999] for row in new] == list(range(70))
shmem.barrier_all()
right, left = (me + 1) % pes, (me - 1) % pes
with shmem.Ctx() as ctx, shmem.TEAM_WORLD.split_strided(0, 1, pes) as team:
    shmem.put_nbi(new[3], np.full(1000, me + 7.0), right, ctx=ctx)
    ctx.quiet()
    shmem.sync(team)
    assert (new[3] == left + 7).all()
with shmem.Lock():
    pass
shmem.sum_reduce_nb(new[4], new[5]).wait()
assert (new[4] == 5.0 * pes).all()
del new, ctx, team
gone = shmem.free_dropped()
assert gone == 71, gone
shmem.finalize()
shmem.init()
assert shmem.zeros(3).sum() == 0
print("well")
"""

# Many lives, of which the first ones fill what a process keeps for ever. Some have an array that is dropped in the next life, some one that
# the program keeps, and some none.
MANY = """import os
import oxshmem as shmem
import numpy as np
LIVES, FIRST, MIB = 40, 6, 1 << 20
kept, found = [], []
def belongings():
    shared, inside = 0, False
    with open("/proc/self/smaps") as maps:
        for line in maps:
            name, _, value = line.partition(":")
            if " " in name:
                inside = "/memfd:" in line
            elif name == "Rss" and inside:
                shared += int(value.split()[0])
    with open("/proc/self/status") as status:
        addresses = next(int(line.split()[1]) for line in status if line.startswith("VmSize:"))
    return len(os.listdir("/proc/self/fd")), addresses, shared
for life in range(LIVES):
    shmem.init()
    me, pes = shmem.my_pe(), shmem.n_pes()
    if life % 3:
        old = shmem.full(MIB // 8, life + me, dtype=float)
        seen = shmem.ptr(old, (me + 1) % pes) if life % 3 == 1 else None
        shmem.put(old, np.ones(10), (me + 1) % pes)
        shmem.barrier_all()
    if life == FIRST - 2:
        kept = [old[5:], seen]
    shmem.finalize()
    if life % 3:
        assert old[:10].sum() == 10 and old[-1] == life + me and (seen is None or seen[3] == 1)
    if life % 3 == 0 and life >= FIRST:
        old = seen = None  # arrays that are dropped while the library is not there
        found.append(belongings())
first, last = found[0], found[-1]
assert kept[0][-1] == FIRST - 2 + me and (kept[1] is None or kept[1][-1] == FIRST - 2 + (me + 1) % pes)
assert last[0] == first[0], (first, last)
assert last[1] < first[1] + (1 << 20) and last[2] < first[2] + MIB // 1024, (first, last)
print("well")
"""


class Dropped(unittest.TestCase):
    def setUp(self) -> None:
        shmem.quiet()
        self.out = shmem.zeros(LONG)
        self.addCleanup(shmem.free, self.out)
        self.addCleanup(shmem.barrier_all)

    def begin(self, ctx: shmem.Ctx, value: float) -> "weakref.ref[Any]":
        """Begins a put whose source nobody else holds."""
        source = np.full(LONG, value)
        shmem.put_nbi(self.out, source, NEXT, ctx=ctx)
        return weakref.ref(source)

    def test_arrays_stay_until_the_operations_are_complete(self) -> None:
        completing: List[Tuple[str, Callable[[], Any]]] = [
            ("quiet", shmem.quiet), ("barrier_all", shmem.barrier_all), ("free_dropped", shmem.free_dropped),
            ("Ctx", lambda: shmem.Ctx().destroy()),
        ]
        for round, (name, complete) in enumerate(completing):
            with self.subTest(call=name):
                source = self.begin(shmem.Ctx(), ME + 10.0 * round)
                gc.collect()
                self.assertEqual(len(_start.dropped_streams), 1)
                self.assertIsNotNone(source())
                complete()
                self.assertIsNone(source())
                self.assertEqual(_start.dropped_streams, [])
                shmem.barrier_all()
                self.assertTrue((self.out == LAST + 10.0 * round).all())
                shmem.barrier_all()

    def test_memory_changes_hands_when_the_operations_of_all_contexts_are_complete(self) -> None:
        shmem.free_dropped()
        completing: List[Callable[[], Any]] = [shmem.free_dropped, lambda: shmem.free(shmem.zeros(1))]
        for complete in completing:
            with shmem.Ctx() as ctx:
                dest, given = shmem.zeros(LONG), np.full(LONG, ME + 1.0)
                source = weakref.ref(given)
                shmem.put_nbi(dest, given, NEXT, ctx=ctx)
                del dest, given
                gc.collect()
                self.assertIsNotNone(source())
                complete()
                self.assertIsNone(source())
        shmem.free_dropped()
        new = shmem.zeros(LONG)
        shmem.barrier_all()
        self.assertEqual(float(new.sum()), 0.0)
        shmem.free(new)

    def test_the_end_of_a_team_completes_its_dropped_contexts(self) -> None:
        team = shmem.TEAM_WORLD.split_strided(0, 1, PES, num_contexts=1)
        source = self.begin(team.create_ctx(), ME + 1.0)
        self.assertIsNotNone(source())
        team.destroy()
        self.assertIsNone(source())
        shmem.barrier_all()
        self.assertTrue((self.out == LAST + 1).all())

    def test_the_contexts_of_a_team_end_with_it(self) -> None:
        team = shmem4py.TEAM_WORLD.split_strided(0, 1, PES, num_contexts=2)
        ctx, other, of_all = team.create_ctx(), shmem.Ctx(team=team), shmem.Ctx()
        name = shmem4py.Ctx(ctx)
        source = self.begin(other, ME + 1.0)
        team.destroy()
        self.assertIsNone(source())
        for ended in (ctx, name, other):
            self.assertFalse(ended)
            with self.assertRaisesRegex(ValueError, "^put: this context has been destroyed"):
                shmem.put(self.out, np.zeros(1), NEXT, ctx=ended)
            ended.destroy()
        of_all.destroy()
        shmem.barrier_all()
        self.assertTrue((self.out == LAST + 1).all())
        shmem.barrier_all()

    def test_memory_is_given_back_behind_a_context_whose_team_has_ended(self) -> None:
        with shmem.TEAM_WORLD.split_strided(0, 1, PES) as team:
            ctx = team.create_ctx()
        shmem.free(shmem.zeros(1))  # completes all contexts
        self.assertFalse(ctx)

    def test_a_context_lives_as_long_as_one_of_its_names(self) -> None:
        ctx = shmem4py.Ctx.create()
        other = shmem4py.Ctx(ctx)
        source = self.begin(ctx, ME + 1.0)
        del ctx
        shmem.quiet()
        self.assertIsNotNone(source())
        other.quiet()
        self.assertIsNone(source())
        source = self.begin(other, ME + 2.0)
        del other
        self.assertIsNotNone(source())
        shmem4py.quiet()
        self.assertIsNone(source())

    def test_a_destroyed_context_leaves_nothing(self) -> None:
        ctx = shmem.Ctx()
        source = self.begin(ctx, ME + 1.0)
        ctx.destroy()
        self.assertIsNone(source())
        del ctx
        self.assertEqual(_start.dropped_streams, [])

    def test_the_place_of_an_old_value_stays_until_it_is_there(self) -> None:
        count, ctx = shmem.zeros(1, dtype=int), shmem.Ctx()
        completing: List[Tuple[Optional[shmem.Ctx], Callable[[], Any]]] = [
            (None, shmem.quiet), (None, shmem.barrier_all), (ctx, ctx.quiet), (ctx, ctx.destroy),
        ]
        for given, complete in completing:
            fetch = np.zeros(1, dtype=int)
            place = weakref.ref(fetch)
            shmem.atomic_fetch_add_nbi(fetch, count, 1, NEXT, ctx=given)
            del fetch
            gc.collect()
            self.assertIsNotNone(place())
            complete()
            self.assertIsNone(place())
        shmem.barrier_all()
        self.assertEqual(int(count[0]), len(completing))
        shmem.barrier_all()
        shmem.free(count)

    def test_a_copy_is_another_name_and_nothing_is_pickled(self) -> None:
        lock, other, request = shmem.Lock(), shmem4py.Lock(), shmem.sync_nb()
        for thing in (shmem.TEAM_WORLD, shmem.Ctx(), shmem4py.Ctx.create(), lock, other, request):
            self.assertIs(copy.copy(thing), thing)
            self.assertIs(copy.deepcopy([thing])[0], thing)
            with self.assertRaisesRegex(TypeError, "so pickle cannot send it: send numbers of PEs"):
                pickle.dumps(thing)
        request.wait()
        lock.free()
        other.destroy()

    def test_contexts_that_are_dropped_are_used_up_nowhere(self) -> None:
        for _ in range(1000):
            shmem.Ctx()
        self.assertLessEqual(len(_start.dropped_streams), 1)

    def test_arrays_of_a_dropped_request_stay_until_it_is_over(self) -> None:
        shmem.free_dropped()
        dest, source = shmem.zeros(LONG), shmem.full(LONG, 1.0)
        total = weakref.ref(dest)
        shmem.sum_reduce_nb(dest, source)  # nobody has the request
        del dest, source
        gc.collect()
        self.assertIsNotNone(total())
        shmem.barrier_all()
        self.assertEqual((shmem.free_dropped(), total(), _start.dropped_requests), (2, None, []))

    def test_dropped_requests_are_as_many_as_go_on(self) -> None:
        many = 300
        shmem.free_dropped()
        dest, source, flag = shmem.zeros(1), shmem.ones(1), shmem.zeros(1, dtype=int)
        self.addCleanup(shmem.free, flag)
        shmem.barrier_all()
        if ME == 0:
            views = []
            for _ in range(many):
                view = dest[:]
                views.append(weakref.ref(view))
                shmem.sum_reduce_nb(view, source)  # nobody has the request
                del view
            if PES > 1:  # the others have not begun
                self.assertEqual(len(_start.dropped_requests), many)
                self.assertTrue(all(view() is not None for view in views))
            for pe in range(1, PES):
                shmem.p(flag, 1, pe)
        else:
            shmem.wait_until(flag, "==", 1)
            for _ in range(many):
                shmem.sum_reduce_nb(dest, source)
        while _start.dropped_requests:
            _requests.end_dropped()
        shmem.barrier_all()
        for _ in range(many):
            shmem.sum_reduce_nb(dest, source)
            shmem.sum_reduce_nb(dest, source).wait()  # those of one team are over in the order of their calls
            self.assertLessEqual(len(_start.dropped_requests), _requests._MANY)
        shmem.barrier_all()
        shmem.free(dest)
        shmem.free(source)

    def test_free_waits_for_collectives_of_the_array(self) -> None:
        team = shmem.TEAM_WORLD.split_strided(0, 1, PES)
        dest, source = shmem.zeros(LONG), shmem.full(LONG, 1.0)
        request = shmem.sum_reduce_nb(dest, source, team)
        shmem.free(dest)
        new = shmem.zeros(LONG)
        self.assertEqual((request.test(), np.count_nonzero(new)), (True, 0))
        shmem.sum_reduce_nb(new, source, team)  # nobody has the request
        shmem.free(source)
        self.assertEqual(np.count_nonzero(new == PES), LONG)
        shmem.free(new)
        team.destroy()


# Only one PE starts jobs of its own.
@unittest.skipUnless(PES == 1, "at one PE")
class Lives(unittest.TestCase):
    def test_a_second_life_begins_with_nothing(self) -> None:
        self.run_jobs(AGAIN)

    def test_memory_goes_with_the_last_array_of_a_life(self) -> None:
        self.run_jobs(MANY)

    def run_jobs(self, program: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(program)
            for options in (["-n", "1"], ["-n", "2"], ["-n", "2", "--nodes", "2"]):
                with self.subTest(options=options):
                    command = [sys.executable, "-m", "oxshmem", *options, "--timeout", "60", path]
                    ended = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)
                    self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
                    self.assertEqual(ended.stdout.count("well"), int(options[1]))


if __name__ == "__main__":
    unittest.main()
