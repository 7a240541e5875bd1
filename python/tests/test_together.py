"""Collectives, teams, contexts, and memory."""

import asyncio
import importlib
import threading
import unittest
from typing import Any, List, Tuple

import numpy as np

import oxshmem as shmem
from oxshmem import shmem4py
from oxshmem._arrays import _heap

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT, LAST = (ME + 1) % PES, (ME - 1) % PES
OPERATORS: List[Tuple[Any, Any]] = [
    (np.maximum, np.maximum), (np.minimum, np.minimum), (np.add, np.add), (np.multiply, np.multiply), ("sum", np.add),
    (shmem.OP.MAX, np.maximum), (max, np.maximum), (sum, np.add),
]


class Collectives(unittest.TestCase):
    def test_operators_of_numpy(self) -> None:
        for kind in ["i1", "u2", "i4", "u8", "f4", "f8", "g"]:
            for op, name in OPERATORS:
                with self.subTest(kind=kind, op=op):
                    a, b = shmem.array(np.arange(3) + ME, dtype=kind), shmem.zeros(3, dtype=kind)
                    shmem.reduce(b, a, op)
                    parts = [(np.arange(3) + pe).astype(kind) for pe in range(PES)]
                    np.testing.assert_array_equal(b, name.reduce(parts, dtype=kind))
                    shmem.free(a)
                    shmem.free(b)
        bits, all_of = shmem.array([1 << ME], dtype="u4"), shmem.zeros(1, dtype="u4")
        shmem.or_reduce(all_of, bits)
        self.assertEqual(all_of[0], 2**PES - 1)
        small, all_small = shmem.array([1 << ME % 7], dtype="i1"), shmem.zeros(1, dtype="i1")
        shmem.reduce(all_small, small, np.bitwise_or)
        self.assertEqual(all_small[0], 2**min(PES, 7) - 1)
        shmem.free(small)
        shmem.free(all_small)
        yes, every = shmem.full(1, ME == 0), shmem.zeros(1, dtype=bool)
        shmem.reduce(every, yes, np.logical_and)
        self.assertEqual(every[0], PES == 1)
        for array in (bits, all_of, yes, every):
            shmem.free(array)

    def test_moves(self) -> None:
        for kind in ["i1", "f8", "D", "S5"]:
            with self.subTest(kind=kind):
                mine = shmem.array(np.full(2, ME + 1).astype(kind))
                parts = np.repeat(np.arange(PES) + 1, 2).astype(kind)
                all_of = shmem.zeros(2 * PES, dtype=kind)
                shmem.fcollect(all_of, mine)
                np.testing.assert_array_equal(all_of, parts)
                shmem.collect(all_of, mine)
                np.testing.assert_array_equal(all_of, parts)
                shmem.barrier_all()
                given = shmem.array(np.repeat(np.arange(PES) + 10 * ME, 2).astype(kind))
                shmem.alltoall(all_of, given)
                np.testing.assert_array_equal(all_of, np.repeat(10 * np.arange(PES) + ME, 2).astype(kind))
                shmem.broadcast(mine, given[:2], root=PES - 1)
                np.testing.assert_array_equal(mine, np.full(2, 10 * (PES - 1)).astype(kind))
                for array in (mine, all_of, given):
                    shmem.free(array)
        a, b = shmem.array(np.arange(4 * PES) + 100 * ME, dtype="D"), shmem.zeros(3 * 2 * PES, dtype="D")
        shmem.alltoalls(b, a, dst=3, sst=2, nelems=2)
        expected = [100 * pe + 4 * ME + 2 * i for pe in range(PES) for i in range(2)]
        np.testing.assert_array_equal(b[::3], expected)
        shmem.free(a)
        shmem.free(b)

    def test_a_root_may_be_a_number_of_numpy(self) -> None:
        a, b = shmem.full(2, ME), shmem.zeros(2, dtype=int)
        shmem.broadcast(b, a, root=np.int64(PES - 1))  # type: ignore[arg-type]
        self.assertEqual(b.tolist(), [PES - 1] * 2)
        shmem.sync_all()
        shmem.broadcast_nb(b, a, root=np.int32(0)).wait()  # type: ignore[arg-type]
        self.assertEqual(b.tolist(), [0, 0])
        shmem.free(a)
        shmem.free(b)

    def test_scans(self) -> None:
        a, b = shmem.full(2, ME + 1), shmem.zeros(2, dtype=int)
        shmem.sum_inscan(b, a)
        self.assertEqual(b[0], sum(range(ME + 2)))
        shmem.sum_exscan(b, a)
        self.assertEqual(b[0], sum(range(ME + 1)))
        shmem.free(a)
        shmem.free(b)

    def test_awaitables(self) -> None:
        a, b = shmem.full(2, ME + 1.0), shmem.zeros(2)
        c, d = shmem.full(2, ME), shmem.zeros(2 * PES, dtype=int)

        async def both() -> None:
            await asyncio.gather(self.finished(shmem.sum_reduce_nb(b, a)), self.finished(shmem.fcollect_nb(d, c)))
            await shmem.barrier_all_nb()

        asyncio.run(both())
        self.assertEqual(b[0], PES * (PES + 1) / 2)
        self.assertEqual(d.tolist(), [pe for pe in range(PES) for _ in range(2)])
        request = shmem.broadcast_nb(c, c[:2], root=0)
        while not request.test():
            pass
        shmem.reduce_nb(b, a, np.maximum).wait()
        shmem.alltoall_nb(d, d).wait() if PES == 1 else shmem.sync_nb().wait()
        self.assertEqual(b[0], PES)
        for array in (a, b, c, d):
            shmem.free(array)

    def test_reductions_that_return_at_once_wait_for_nobody(self) -> None:
        a, b, begun = shmem.full(2, ME + 1), shmem.zeros(2, dtype=int), shmem.zeros(1, dtype=int)
        request = shmem.sum_reduce_nb(b, a)
        self.assertNotEqual(request._handle[0], 0)
        request.wait()
        self.assertEqual(b[0], PES * (PES + 1) // 2)
        if ME != 0:
            shmem.wait_until(begun, "==", 1)
        request = shmem.reduce_nb(b, a, np.maximum)
        if ME == 0:
            for pe in range(1, PES):
                shmem.atomic_set(begun, 1, pe)  # the others come when PE 0 has begun
        request.wait()
        self.assertEqual(b[0], PES)
        for array in (a, b, begun):
            shmem.free(array)

    @staticmethod
    async def finished(request: shmem.Request) -> None:
        await request


class Teams(unittest.TestCase):
    def test_splits(self) -> None:
        with shmem.TEAM_WORLD.split_strided(0, 2) as even:
            self.assertEqual(bool(even), ME % 2 == 0)
            if even:
                self.assertEqual((even.my_pe(), even.n_pes()), (ME // 2, (PES + 1) // 2))
                self.assertEqual(even.translate_pe(even.my_pe()), ME)
                even.sync()
        with shmem.TEAM_WORLD.split(color=ME % 2, key=-ME) as half:
            self.assertEqual(half.translate_pe(0), max(pe for pe in range(PES) if pe % 2 == ME % 2))
        row, column = shmem.TEAM_WORLD.split_2d(2)
        self.assertEqual(row.n_pes() * column.n_pes() >= 1, True)
        a, b = shmem.full(1, ME), shmem.zeros(1, dtype=int)
        shmem.max_reduce(b, a, team=row)
        self.assertEqual(b[0], min(ME // 2 * 2 + 1, PES - 1))
        row.destroy()
        column.destroy()
        self.assertFalse(row)
        with self.assertRaisesRegex(RuntimeError, "not in the team"):
            row.my_pe()
        for array in (a, b):
            shmem.free(array)

    def test_contexts(self) -> None:
        a = shmem.zeros(4)
        with shmem.Ctx(shmem.CTX.SERIALIZED) as ctx:
            shmem.put_nbi(a, np.full(4, ME + 1.0), NEXT, ctx=ctx)
            ctx.quiet()
            shmem.sync_all()
            self.assertEqual(a[0], LAST + 1)
        self.assertFalse(ctx)
        with self.assertRaisesRegex(ValueError, "destroyed"):
            shmem.put(a, np.zeros(4), NEXT, ctx=ctx)
        with shmem.TEAM_WORLD.split_strided(PES - 1, 1, 1, num_contexts=1) as last:
            if last:
                with last.create_ctx() as own:
                    shmem.p(a, 9.0, 0, ctx=own)
                    own.quiet()
                    self.assertEqual(a[0], 9)
                    with self.assertRaisesRegex(ValueError, "from 0 to 0"):
                        shmem.p(a, 9.0, 1, ctx=own)
        shmem.barrier_all()
        shmem.free(a)

    def test_threads(self) -> None:
        a = shmem.zeros(4, dtype=int)

        def count(place: int) -> None:
            for _ in range(100):
                shmem.atomic_inc(a, NEXT, index=place)

        threads = [threading.Thread(target=count, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shmem.barrier_all()
        self.assertEqual(a.tolist(), [100] * 4)
        shmem.free(a)


class Memory(unittest.TestCase):
    def test_arrays_are_numpy_arrays(self) -> None:
        a = shmem.zeros((3, 4), dtype="f4", order="F")
        show: Any = a
        memory = memoryview(show)
        self.assertIs(type(a), np.ndarray)
        self.assertTrue(a.flags.f_contiguous and a.flags.writeable and a.flags.aligned)
        self.assertEqual(np.asarray(memory).ctypes.data, a.ctypes.data)
        other = np.from_dlpack(a)
        a[...] = 5
        self.assertEqual(other[2, 3], 5)
        b = shmem.array([[1, 2], [3, 4]])
        self.assertEqual((b.tolist(), shmem.zeros_like(b).shape, shmem.empty_like(a).dtype), ([[1, 2], [3, 4]], (2, 2), a.dtype))
        self.assertEqual(shmem.ones(3, dtype="u1").tolist(), [1, 1, 1])

    def test_texts_of_no_given_length(self) -> None:
        for module in (shmem, shmem4py):
            for kind, value, item in (("U", "abc", 12), ("S", "abc", 3), ("S", b"", 1), ("U2", "abc", 8), (None, "abc", 12)):
                with self.subTest(module=module.__name__, kind=kind):
                    a = module.full(3, value, dtype=kind)
                    self.assertEqual((a.dtype.itemsize, a.tolist()), (item, [np.array(value, dtype=kind).item()] * 3))
                    module.free(a)
        for kind in ("S", "U", "V"):
            a, b = shmem.zeros(3, dtype=kind), np.zeros(3, dtype=kind)
            self.assertEqual((a.dtype, a.tolist()), (b.dtype, b.tolist()))
            shmem.free(a)
        self.assertEqual(shmem4py.fromalloc(shmem4py.alloc(6), dtype="S").shape, (6,))

    def test_tensors_of_torch_share_the_memory(self) -> None:
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            self.skipTest("there is no torch in this environment")
        a = shmem.zeros(8)
        tensor = torch.from_numpy(a)
        shmem.put(a, np.full(8, ME + 1.0), NEXT)
        shmem.barrier_all()
        self.assertEqual(float(tensor.sum()), 8 * (LAST + 1))
        shmem.put(a, tensor.numpy() * 2, NEXT)
        shmem.barrier_all()
        shmem.free(a)

    def test_dropped_arrays_are_freed_when_all_have_dropped_them(self) -> None:
        shmem.free_dropped()
        kept = shmem.zeros(100) if ME == 0 else None
        if ME != 0:
            shmem.zeros(100)  # dropped at once
        view = shmem.zeros((10, 10))[2:4]
        self.assertEqual(shmem.free_dropped(), 0)
        del kept
        self.assertEqual(shmem.free_dropped(), 1)
        view[...] = 1
        del view
        self.assertEqual(shmem.free_dropped(), 1)
        for _ in range(400):  # 400 MB, if nothing gave it back
            shmem.empty(1 << 17)
        self.assertLess(len(_heap.blocks), 100)
        shmem.free_dropped()
        self.assertEqual(_heap.bytes, sum(size for _, size in _heap.blocks.values()))

    def test_free(self) -> None:
        a = shmem.zeros(3)
        shmem.free(a[1:])
        with self.assertRaisesRegex(ValueError, "freed already"):
            shmem.free(a)
        with self.assertRaisesRegex(ValueError, "not symmetric"):
            shmem.free(np.zeros(3))

    def test_memory_of_others(self) -> None:
        a = shmem.full((2, 3), ME)
        self.assertTrue(shmem.is_symmetric(a) and shmem.addr_accessible(a, NEXT) and shmem.pe_accessible(NEXT))
        for private in (np.zeros(3), [1], None, np.zeros(3, dtype="M8[s]")):
            self.assertFalse(shmem.is_symmetric(private))
        self.assertTrue(shmem.is_symmetric(a.view("m8[s]")))
        shmem.pe_quiet([ME, NEXT])
        there = shmem.ptr(a, NEXT)
        if there is not None:
            self.assertEqual((there.shape, there[1, 2]), ((2, 3), NEXT))
        shmem.barrier_all()
        shmem.free(a)


if __name__ == "__main__":
    unittest.main()
