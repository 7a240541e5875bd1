"""Transfers, atomics, signals and waits, at any number of PEs."""

import unittest
import warnings
from typing import Any, List, Optional, Tuple

import numpy as np

import oxshmem as shmem
from oxshmem import _start, shmem4py

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT, LAST = (ME + 1) % PES, (ME - 1) % PES
NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "F", "D", "?"]
ATOMIC = ["i4", "i8", "u4", "u8"]


class Transfers(unittest.TestCase):
    def test_one_element(self) -> None:
        for kind in NUMBERS:
            with self.subTest(kind=kind):
                a = shmem.zeros(5, dtype=kind)
                value = np.dtype(kind).type(ME % 2 if kind == "?" else ME + 1)
                shmem.p(a, value, NEXT, index=3)
                shmem.barrier_all()
                expected = np.dtype(kind).type(LAST % 2 if kind == "?" else LAST + 1)
                self.assertEqual(a[3], expected)
                self.assertEqual(shmem.g(a, NEXT, index=3), value)
                self.assertEqual(np.count_nonzero(a), int(expected != 0))
                shmem.free(a)

    def test_one_number_is_that_of_numpy(self) -> None:
        inf, nan, third = float("inf"), float("nan"), np.longdouble(1) / 3
        values: List[Any] = [
            0, -0.0, 1, True, 2**53 + 1, 2**63 - 1, -2**63, 2**64, 10**400, 0.1, 65504.0, 65519.0, 65520.0, -1e5, 5e-8, 2**-25, 3e-8,
            1e300, 1e-300, inf, -inf, nan, 1j, -1 + 0j, complex(-0.0, -0.0), 1e300j, complex(1, inf), complex(nan, 2),
            complex(1e300, inf), np.float16(0.1), np.float32(0.1), np.float64(0.1), third, np.complex64(1 + 2j), np.complex128(0.1 + 2j),
            np.float32(-0.0), np.float32(1e30), np.float32(nan), np.int16(-7), np.uint64(2**64 - 1), np.int64(2**60 + 2**36 + 1),
            np.bool_(True),
            np.array(1.5), np.array(1.5, dtype=">f4"), np.str_("1"), np.datetime64(1, "s"), "1.5", None,
        ]
        for kind in ("e", ">e", "g", "F", "D", ">D", "G"):
            a, expected = shmem.zeros(3, dtype=kind), np.zeros(3, dtype=kind)
            for value in values:
                with self.subTest(kind=kind, value=value), np.errstate(over="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # numpy's, of what it leaves out
                    try:
                        expected[1] = value
                        is_too_large = np.isinf(expected[1]) and not np.isinf(np.asarray(value, dtype="G"))
                    except (TypeError, ValueError, OverflowError) as error:
                        with self.assertRaises(type(error)):
                            shmem.p(a, value, ME, index=1)
                        continue
                    if is_too_large:
                        with self.assertRaisesRegex(OverflowError, f"does not fit {a.dtype}$"):
                            shmem.p(a, value, ME, index=1)
                        continue
                    shmem.p(a, value, ME, index=1)
                    seen = shmem.g(a, ME, index=1)
                    np.testing.assert_array_equal(a, expected)
                    np.testing.assert_array_equal([seen], expected[1:2])
                    for number in (a[1], seen):
                        self.assertEqual((np.signbit(number.real), np.signbit(number.imag)),
                                         (np.signbit(expected[1].real), np.signbit(expected[1].imag)))
            shmem.free(a)

    def test_halves_are_rounded_as_numpy_does(self) -> None:
        a = shmem.zeros(1, dtype="e")
        own: Any = a.view("u2")
        halves: Any = np.arange(0x7c00, dtype="u2").view("e")
        sizes = halves.astype(float)
        between = (sizes[1:] + sizes[:-1]) / 2
        # A step that is no divisor of 1024 meets all exponents and many fractions.
        for exact in (sizes, between, np.nextafter(between, 0), np.nextafter(between, 1e9)):
            for number in [*exact[::37].tolist(), *exact[:40].tolist(), *exact[1000:1050].tolist(), *exact[-9:].tolist()]:
                for value in (number, -number):
                    shmem.p(a, value, ME)
                    self.assertEqual(own[0], np.array([value]).astype("e").view("u2")[0], value)
                    self.assertEqual(shmem.g(a, ME), float(a[0]))
        for word in (0x7c01, 0x7e00, 0xfc01, 0xffff):
            own[0] = word
            self.assertTrue(np.isnan(shmem.g(a, ME)))
            shmem.p(a, shmem.g(a, ME), ME)
            self.assertTrue(np.isnan(a[0]))
        shmem.free(a)

    def test_g_gives_numbers_of_python(self) -> None:
        own = [("?", bool), ("i1", int), ("u8", int), ("e", float), ("f", float), ("d", float), ("F", complex), ("D", complex)]
        for kind, expected in [*own, ("g", np.longdouble)]:
            a = shmem.ones(2, dtype=kind)
            with self.subTest(kind=kind):
                self.assertIs(type(shmem.g(a, NEXT)), expected)
            shmem.barrier_all()
            shmem.free(a)

    def test_one_element_that_is_not_aligned(self) -> None:
        for kind in NUMBERS:
            with self.subTest(kind=kind):
                room = shmem.zeros(1 + 5 * np.dtype(kind).itemsize, dtype="u1")
                a: Any = room[1:].view(kind)
                given, expected = np.array([-2 - ME, -2 - LAST]).astype(kind)
                shmem.p(a, given, NEXT, index=3)
                shmem.barrier_all()
                self.assertEqual((a[3], np.count_nonzero(a)), (expected, 1))
                self.assertEqual(shmem.g(a, NEXT, index=3), given)
                shmem.free(room)

    def test_blocks_in_both_directions(self) -> None:
        for kind in NUMBERS + ["S7", "U3"]:
            with self.subTest(kind=kind):
                a, b = shmem.zeros((3, 4), dtype=kind), np.zeros((3, 4), dtype=kind)
                shmem.put(a, np.arange(ME, ME + 12).astype(kind).reshape(3, 4), NEXT)
                shmem.barrier_all()
                np.testing.assert_array_equal(a, np.arange(LAST, LAST + 12).astype(kind).reshape(3, 4))
                shmem.get(b, a, NEXT)
                np.testing.assert_array_equal(b, np.arange(ME, ME + 12).astype(kind).reshape(3, 4))
                shmem.free(a)

    def test_types_that_numpy_alone_knows(self) -> None:
        padded = np.dtype([("a", "i4"), ("b", "f8")], align=True)
        for kind in (padded, np.dtype([("a", "i2", (3,)), ("b", "S2")]), *(np.dtype(name) for name in (">f8", "f2", "U3", "G", "g"))):
            with self.subTest(kind=kind):
                # Numpy describes the memory of an array otherwise where it is not aligned.
                raw = np.zeros(1 + 4 * kind.itemsize, dtype="u1")
                source: Any = np.ndarray((4,), kind, raw.data, offset=1)
                raw[1:] = ME + 1
                a, b = shmem.zeros(4, dtype=kind), shmem.zeros(4, dtype=kind)
                shmem.put(a, source, NEXT)
                shmem.barrier_all()
                self.assertEqual(set(a.tobytes()) - {0}, {LAST + 1})
                shmem.put(a, memoryview(source), NEXT)  # type: ignore[arg-type]
                shmem.broadcast(b, a)
                room = shmem.zeros(1 + 4 * kind.itemsize, dtype="u1")
                shmem.broadcast(room[1:].view(kind), a)
                self.assertEqual(room[1:].tobytes(), b.tobytes())
                other: Any = np.zeros(4, dtype=f"S{kind.itemsize}")
                for text in (other, memoryview(other)):
                    with self.assertRaisesRegex(TypeError, "put: dest has .* and source has .*: convert source, as"):
                        shmem.put(a, text, NEXT)  # type: ignore[arg-type]
                shmem.barrier_all()
                there: Any = shmem.ptr(a, ME)
                self.assertEqual((there.dtype, there.tobytes()), (a.dtype, a.tobytes()))
                for array in (a, b, room):
                    shmem.free(array)

    def test_a_field_without_bytes_has_nothing_to_move(self) -> None:
        table = shmem.zeros(4, dtype=[("number", "i4"), ("text", "S0")])
        here: Any = np.zeros(4, dtype=table.dtype)
        shmem.put(table["text"], here["text"], NEXT)
        shmem.get(here["text"], table["text"], NEXT)
        self.assertEqual(np.count_nonzero(table["number"]), 0)
        shmem.free(table)

    def test_slices_with_strides(self) -> None:
        a, b = shmem.zeros(12, dtype="i4"), np.zeros(12, dtype="i4")
        shmem.put(a[1::3], np.arange(8, dtype="i4")[::2] + 1, NEXT)
        shmem.barrier_all()
        self.assertEqual(a.tolist(), [0, 1, 0, 0, 3, 0, 0, 5, 0, 0, 7, 0])
        shmem.get(b[::2], a[::2], NEXT)
        self.assertEqual(b[::2].tolist(), a[::2].tolist())
        plate = shmem.zeros((4, 5))
        shmem.put(plate[:, 2], np.arange(4.0), NEXT)
        shmem.barrier_all()
        self.assertEqual(plate[:, 2].tolist(), [0, 1, 2, 3])
        self.assertEqual(plate.sum(), 6)
        for array in (a, plate):
            shmem.free(array)

    def test_one_element_lies_in_both_orders(self) -> None:
        turned, two = shmem.zeros((2, 2), dtype="i4", order="F"), np.zeros((2, 2), dtype="i4", order="F")
        one = shmem.full(1, 9, dtype="i4")
        shmem.put(turned, np.array([7], dtype="i4"), NEXT)
        shmem.barrier_all()
        self.assertEqual(turned.tolist(), [[7, 0], [0, 0]])
        shmem.get(two, one, NEXT)
        self.assertEqual(two.tolist(), [[9, 0], [0, 0]])
        for array in (turned, one):
            shmem.free(array)

    def test_strided_calls(self) -> None:
        a = shmem.zeros(20, dtype="i2")
        shmem.iput(a, np.arange(1, 5, dtype="i2"), NEXT, dst=5)
        shmem.barrier_all()
        self.assertEqual(a[::5].tolist(), [1, 2, 3, 4])
        here = np.zeros(4, dtype="i2")
        shmem.iget(here, a, NEXT, sst=5)
        self.assertEqual(here.tolist(), [1, 2, 3, 4])
        shmem.barrier_all()
        shmem.ibput(a, np.arange(1, 7, dtype="i2"), NEXT, dst=7, sst=2, bsize=2, nblocks=3)
        shmem.barrier_all()
        self.assertEqual([a[i:i + 2].tolist() for i in (0, 7, 14)], [[1, 2], [3, 4], [5, 6]])
        blocks = np.zeros(6, dtype="i2")
        shmem.ibget(blocks, a, NEXT, dst=2, sst=7, bsize=2, nblocks=3)
        self.assertEqual(blocks.tolist(), [1, 2, 3, 4, 5, 6])
        shmem.free(a)

    def test_nonblocking_sources_stay_until_quiet(self) -> None:
        a = shmem.zeros((10, 1000))
        for i in range(10):
            shmem.put_nbi(a[i], np.full(1000, i + ME, dtype=float), NEXT)  # nobody else holds the source
        shmem.quiet()
        shmem.barrier_all()
        self.assertEqual(a.sum(), 1000 * sum(i + LAST for i in range(10)))
        b = np.zeros(1000)
        shmem.get_nbi(b, a[3], NEXT)
        shmem.quiet()
        self.assertTrue((b == 3 + ME).all())
        shmem.free(a)

    def test_memory_of_nonblocking_transfers_stays_where_it_is_until_quiet(self) -> None:
        a, here = shmem.zeros(10, dtype="u1"), bytearray(10)
        memory: Any = here

        def stays() -> None:
            with self.assertRaises(BufferError):
                here.append(1)
            shmem.quiet()
            here.append(1)
            here.pop()

        shmem.put_nbi(a, memory, NEXT)
        stays()
        shmem.get_nbi(memory, a, NEXT)
        stays()
        shmem.barrier_all()
        shmem.free(a)

    def test_a_quiet_of_some_pes_lets_go_of_the_sources_that_went_there(self) -> None:
        a = shmem.zeros((2, 10))
        shmem.quiet()
        with shmem.Ctx() as own:
            lists: List[Tuple[Optional[shmem.Ctx], List[Any]]] = [(None, _start.kept), (own, own._kept)]
            for ctx, kept in lists:
                shmem.put_nbi(a[0], np.ones(10), NEXT, ctx=ctx)
                shmem.put_nbi(a[1], np.ones(10), ME, ctx=ctx)
                shmem.pe_quiet([NEXT], ctx)
                self.assertEqual([pe for _, pe in kept], [] if ME == NEXT else [ME])
                shmem.pe_quiet(range(PES), ctx)
                self.assertEqual(kept, [])
        shmem.free(a)


class Atomics(unittest.TestCase):
    def test_counting(self) -> None:
        for kind in ATOMIC:
            with self.subTest(kind=kind):
                a = shmem.zeros(2, dtype=kind)
                tickets = [shmem.atomic_fetch_inc(a, 0) for _ in range(10)]
                for _ in range(5):
                    shmem.atomic_add(a, 3, 0, index=1)
                    shmem.atomic_inc(a, 0, index=1)
                shmem.barrier_all()
                self.assertEqual((shmem.atomic_fetch(a, 0), shmem.g(a, 0, index=1)), (10 * PES, 20 * PES))
                self.assertEqual(tickets, sorted(set(tickets)))
                shmem.free(a)

    def test_swaps_and_bits(self) -> None:
        a = shmem.zeros(1, dtype="u8")
        shmem.atomic_or(a, 1 << ME, NEXT)
        shmem.barrier_all()
        self.assertEqual(a[0], 1 << LAST)
        shmem.barrier_all()
        self.assertEqual(shmem.atomic_fetch_xor(a, 1 << ME, NEXT), 1 << ME)
        self.assertEqual(shmem.atomic_compare_swap(a, 0, 2**64 - 1, NEXT), 0)
        self.assertEqual(shmem.atomic_fetch_and(a, 6, NEXT), 2**64 - 1)
        self.assertEqual(shmem.atomic_swap(a, 9, NEXT), 6)
        shmem.free(a)
        b = shmem.zeros(1)
        shmem.atomic_set(b, 2.5, NEXT)
        self.assertEqual(shmem.atomic_fetch(b, NEXT), 2.5)
        shmem.free(b)

    def test_nonblocking(self) -> None:
        a, was = shmem.zeros(1, dtype=int), np.zeros(1, dtype=int)
        for round in range(5):
            shmem.atomic_fetch_add_nbi(was, a, 2, NEXT)
            shmem.quiet()
            self.assertEqual(was[0], 2 * round)
        shmem.atomic_compare_swap_nbi(was, a, 10, 1, NEXT)
        shmem.quiet()
        self.assertEqual((was[0], shmem.atomic_fetch(a, NEXT)), (10, 1))
        shmem.free(a)

    def test_nonblocking_bits(self) -> None:
        for kind in ATOMIC:
            with self.subTest(kind=kind):
                a, was = shmem.full(1, 6, dtype=kind), np.zeros(1, dtype=kind)
                seen = []
                for begin, op in ((shmem.atomic_fetch_and_nbi, shmem4py.AMO.AND), (shmem.atomic_fetch_or_nbi, shmem4py.AMO.OR),
                                  (shmem.atomic_fetch_xor_nbi, shmem4py.AMO.XOR)):
                    begin(was, a, 3, NEXT)
                    shmem.quiet()
                    seen.append(int(was[0]))
                    shmem4py.atomic_fetch_op_nbi(was, a, 9, op, NEXT)
                    shmem.quiet()
                    seen.append(int(was[0]))
                self.assertEqual(seen, [6, 2, 0, 3, 11, 8])
                self.assertEqual(shmem.atomic_fetch(a, NEXT), 1)
                shmem.barrier_all()
                shmem.free(a)


class Waits(unittest.TestCase):
    def test_signals(self) -> None:
        a, arrived = shmem.zeros(4), shmem.new_signal()
        shmem.put_signal(a, np.full(4, ME + 0.5), NEXT, arrived, 1, shmem.SIGNAL.ADD)
        shmem.put_signal_nbi(a, np.full(4, ME + 0.5), NEXT, arrived, 1, shmem.SIGNAL.ADD)
        self.assertEqual(shmem.signal_wait_until(arrived, ">=", 2), 2)
        self.assertTrue((a == LAST + 0.5).all())
        shmem.barrier_all()
        shmem.signal_set(arrived, 7, NEXT)
        shmem.signal_wait_until(arrived, shmem.CMP.EQ, 7)
        self.assertEqual(shmem.signal_fetch(arrived), 7)
        for array in (a, arrived):
            shmem.free(array)

    def test_one_and_many(self) -> None:
        flags = shmem.zeros(PES, dtype="i4")
        self.assertFalse(shmem.test(flags, "==", 1))
        self.assertIsNone(shmem.test_any(flags, "!=", 0))
        shmem.barrier_all()
        for pe in range(PES):
            shmem.atomic_set(flags, ME + 1, pe, index=ME)
        shmem.wait_until(flags, "==", LAST + 1, index=LAST)
        self.assertIn(shmem.wait_until_any(flags, ">", 0), range(PES))
        shmem.wait_until_all(flags, ">", 0)
        shmem.wait_until_all(flags, "==", np.arange(PES) + 1)
        self.assertEqual(shmem.test_some(flags, ">", 0), list(range(PES)))
        self.assertEqual(shmem.wait_until_some(flags, "==", 1, status=[0] * PES), [0])
        self.assertTrue(shmem.test_all(flags, "<=", PES))
        self.assertIsNone(shmem.wait_until_any(flags, ">", 0, status=[1] * PES))
        shmem.barrier_all()
        shmem.free(flags)

    def test_values_stand_beside_the_elements_of_either_order(self) -> None:
        numbers, only = [[1, 2, 3], [4, 5, 6]], np.array([[1, 1, 1], [0, 1, 1]])
        for order, place in (("C", 3), ("F", 1)):
            with self.subTest(order=order):
                flags = shmem.zeros((2, 3), dtype="i4", order=order)
                flags[...] = numbers
                self.assertTrue(shmem.test_all(flags, "==", numbers))
                self.assertTrue(shmem.test_all(flags, "==", np.array(numbers, order="F")))
                self.assertEqual(shmem.test_any(flags, ">", 0, status=only), place)
                self.assertEqual(shmem.test_some(flags, "==", 4, status=np.asfortranarray(only)), [place])
                shmem.free(flags)

    def test_values_of_other_types_are_compared_as_numbers(self) -> None:
        for kind in ("i2", "u2", "i4", "u4", "i8", "u8"):
            limits = np.iinfo(kind)
            given = [limits.min, 5, limits.max]
            flags = shmem.zeros(3, dtype=kind)
            flags[...] = given
            wide: List[Any] = [np.array(given, dtype=object), np.array(given, dtype="u8" if kind == "u8" else "i8")]
            for values in [given, tuple(given), *wide, wide[1].astype(wide[1].dtype.newbyteorder(">")), np.repeat(wide[1], 2)[::2]]:
                with self.subTest(kind=kind, values=values):
                    self.assertTrue(shmem.test_all(flags, "==", values))
            self.assertEqual(shmem.test_some(flags, "==", [5, True, limits.max], status=[False, False, True]), [])
            for culprit in (limits.max + 1, limits.min - 1, 2**64, -2**70):
                for values in ([5, culprit, 2**80], np.array([5, culprit, 2**80], dtype=object)):
                    with self.subTest(kind=kind, culprit=culprit), \
                            self.assertRaisesRegex(OverflowError, f"^test_all: the value {culprit} does not fit {flags.dtype}$"):
                        shmem.test_all(flags, "==", values)
            with self.assertRaisesRegex(OverflowError, f"does not fit {flags.dtype}$"):
                shmem.test_all(flags, "==", np.array([0, 0, -1 if kind == "u8" else 2**64 - 1], dtype="i8" if kind == "u8" else "u8"))
            wrongs: List[Any] = [1.0, float("nan"), "1", None, 1j]
            for wrong in wrongs:
                many: Any
                for many in ([5, wrong, 6.5], np.array([5, wrong, 6.5], dtype=object)):
                    with self.subTest(kind=kind, wrong=wrong), \
                            self.assertRaisesRegex(TypeError, f"^test_all: the value {wrong!r} is no integer; this call takes"):
                        shmem.test_all(flags, "==", many)
            for no_integers in (np.zeros(3), np.zeros(3, dtype="m8[ns]"), np.zeros(3, dtype=[("a", "i4")])):
                with self.subTest(kind=kind, dtype=no_integers.dtype), \
                        self.assertRaisesRegex(TypeError, "^test_all: the value .* is no integer; this call takes"):
                    shmem.test_all(flags, "==", no_integers)
            nothing: Any
            for nothing in ([], np.zeros(0), np.zeros(0, dtype="u8"), np.zeros(0, dtype=">i8"), np.zeros((0, 3), dtype=object)):
                self.assertTrue(shmem.test_all(flags[:0], "==", nothing))
            shmem.free(flags)

    def test_locks(self) -> None:
        lock, total = shmem.Lock(), shmem.zeros(1, dtype=int)
        for _ in range(20):
            with lock:
                shmem.p(total, shmem.g(total, 0) + 1, 0)
        while not lock.acquire(blocking=False):
            pass
        lock.release()
        shmem.barrier_all()
        self.assertEqual(shmem.g(total, 0), 20 * PES)
        lock.free()
        shmem.free(total)


if __name__ == "__main__":
    unittest.main()
