"""The names of shmem4py: what they refuse."""

import unittest
from typing import Any, Callable, List, Tuple

import numpy as np

from oxshmem import shmem4py as shmem

ME, PES = shmem.my_pe(), shmem.n_pes()


class Sizes(unittest.TestCase):
    def test_arrays_have_as_many_elements_as_size(self) -> None:
        a, b = shmem.array([1] * 4 * PES, dtype="i4"), shmem.zeros(40 * PES, dtype="i4")
        signal = shmem.new_signal()
        calls: List[Tuple[str, Callable[[int], Any], int]] = [
            ("put", lambda size: shmem.put(b, a, ME, size), 4 * PES),
            ("get", lambda size: shmem.get(b, a, ME, size), 4 * PES),
            ("put_signal", lambda size: shmem.put_signal(b, a, ME, signal, 1, shmem.SIGNAL.ADD, size), 4 * PES),
            ("broadcast", lambda size: shmem.broadcast(b, a, 0, size), 4 * PES),
            ("reduce", lambda size: shmem.sum_reduce(b, a, size), 4 * PES),
            ("collect", lambda size: shmem.collect(b, a, size), 4 * PES),
            ("fcollect", lambda size: shmem.fcollect(b, a, size), 4 * PES),
            ("alltoall", lambda size: shmem.alltoall(b, a, size), 4),
        ]
        for name, call, most in calls:
            for size in (most + 1, -1):
                with self.subTest(call=name, size=size):
                    with self.assertRaisesRegex(ValueError, f"size is {size}; with these arrays it is a number from 0 to {most}"):
                        call(size)
            self.assertEqual(np.count_nonzero(b), 0)
        with self.assertRaises(TypeError):
            shmem.collect(b, a, 1.5)  # type: ignore[arg-type]
        shmem.collect(b, a, 2)
        self.assertEqual(np.count_nonzero(b), 2 * PES)
        shmem.sync_all()
        for array in (a, b, signal):
            shmem.free(array)

    def test_an_alignment_is_a_power_of_two(self) -> None:
        for align in (3, -64, 1 << 64):
            with self.assertRaisesRegex(ValueError, f"align is {align}; it is a power of two"):
                shmem.zeros(8, align=align)
        a, b = shmem.zeros(8, align=np.int64(4096)), shmem.zeros(8, align=0)  # type: ignore[arg-type]
        self.assertEqual((a.ctypes.data % 4096, a.sum(), b.sum()), (0, 0, 0))
        shmem.free(a)
        shmem.free(b)

    def test_strided_calls_move_what_both_arrays_have(self) -> None:
        a, b = shmem.array([1] * 8, dtype="i4"), shmem.zeros(8, dtype="i4")
        shmem.iput(b, a, ME, tst=2)
        self.assertEqual(b.tolist(), [1, 0] * 4)
        shmem.iget(b, a, ME, sst=3)
        self.assertEqual(b.tolist(), [1, 1, 1, 0] + [1, 0] * 2)
        shmem.sync_all()
        for array in (a, b):
            shmem.free(array)

    def test_an_exchange_moves_what_fits_with_its_strides(self) -> None:
        a, b = shmem.array([ME] * 4 * PES, dtype="i4"), shmem.zeros(4 * PES, dtype="i4")
        shmem.alltoalls(b, a, tst=3)
        each = -(-b.size // 3) // PES
        self.assertEqual(b[::3][:each * PES].tolist(), [pe for pe in range(PES) for _ in range(each)])
        for strides in ((0, 1), (1, 0), (-1, 1)):
            with self.assertRaisesRegex(ValueError, "alltoalls: strides are at least 1"):
                shmem.alltoalls(b, a, *strides)
        shmem.sync_all()
        for array in (a, b):
            shmem.free(array)


class Names(unittest.TestCase):
    def test_operators_and_comparisons_have_letters_of_any_case(self) -> None:
        a, b = shmem.zeros(1, dtype=int), shmem.zeros(1, dtype=int)
        shmem.atomic_op(a, 3, "ADD", ME)  # type: ignore[arg-type]
        self.assertEqual(shmem.atomic_fetch_op(a, 1, "Or", ME), 3)  # type: ignore[arg-type]
        shmem.reduce(b, a, "MAX")  # type: ignore[arg-type]
        self.assertEqual(b.tolist(), [3])
        self.assertTrue(shmem.test(b, "EQ", 3) and shmem.test_all(b, "Ge", 3) and not shmem.test(b, "NE", 3))
        shmem.sync_all()
        for array in (a, b):
            shmem.free(array)

    def test_a_pe_without_a_number_in_a_team_raises(self) -> None:
        for team in (shmem.TEAM_WORLD, shmem.Team(shmem.TEAM_WORLD)):
            self.assertEqual(team.translate_pe(), ME)
            with self.assertRaisesRegex(RuntimeError, f"^Team.translate_pe: PE {PES} of this team has no number in the other one$"):
                team.translate_pe(PES)

    def test_a_context_ends_under_all_its_names(self) -> None:
        a, ctx = shmem.zeros(1), shmem.Ctx.create()
        names = [shmem.Ctx(ctx), shmem.Ctx(shmem.Ctx(ctx))]
        names.pop().destroy()
        for ended in (ctx, *names):
            self.assertFalse(ended)
            with self.assertRaisesRegex(ValueError, "^put: this context has been destroyed"):
                shmem.put(a, np.ones(1), ME, ctx=ended)
            ended.destroy()
        default = shmem.Ctx(shmem.CTX_DEFAULT)
        default.destroy()
        self.assertFalse(default)
        shmem.put(a, np.ones(1), ME, ctx=shmem.CTX_DEFAULT)
        self.assertEqual(a.tolist(), [1])
        shmem.sync_all()
        shmem.free(a)

    def test_all_splits_give_teams_of_this_module(self) -> None:
        row, column = shmem.TEAM_WORLD.split_2d(1)
        for team in (row, column, shmem.TEAM_WORLD.split(0), shmem.TEAM_WORLD.split_strided()):
            self.assertIsInstance(team, shmem.Team)
            team.destroy()

    def test_a_team_ends_under_all_its_names(self) -> None:
        team = shmem.TEAM_WORLD.split_strided(0, 1, PES)
        name, found = shmem.Team(team), team.create_ctx().get_team()
        self.assertEqual((name, found), (team, team))
        name.destroy()
        for ended in (team, name, found):
            self.assertFalse(ended)
            with self.assertRaisesRegex(RuntimeError, "the team has been destroyed"):
                ended.sync()
            ended.destroy()
        self.assertTrue(shmem.TEAM_WORLD)
        self.assertTrue(shmem.Team(shmem.TEAM_WORLD))


if __name__ == "__main__":
    unittest.main()
