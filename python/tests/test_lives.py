"""Contexts that the program drops: the arrays of their operations stay until these are complete."""

import gc
import unittest
import weakref
from typing import Any, Callable, List, Tuple

import numpy as np

import oxshmem as shmem
from oxshmem import _start, shmem4py

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT, LAST = (ME + 1) % PES, (ME - 1) % PES
LONG = 1 << 18


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

    def test_the_end_of_a_team_completes_its_dropped_contexts(self) -> None:
        team = shmem.TEAM_WORLD.split_strided(0, 1, PES, num_contexts=1)
        source = self.begin(team.create_ctx(), ME + 1.0)
        self.assertIsNotNone(source())
        team.destroy()
        self.assertIsNone(source())
        shmem.barrier_all()
        self.assertTrue((self.out == LAST + 1).all())

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

    def test_contexts_that_are_dropped_are_used_up_nowhere(self) -> None:
        for _ in range(1000):
            shmem.Ctx()
        self.assertLessEqual(len(_start.dropped_streams), 1)


if __name__ == "__main__":
    unittest.main()
