"""What is said of mistakes, and how programs end."""

import ast
import importlib.util
import os
import pydoc
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable, List, Set, Tuple

import numpy as np

import oxshmem as shmem
from oxshmem import __main__ as launch
from oxshmem import shmem4py

ME, PES = shmem.my_pe(), shmem.n_pes()
NEXT = (ME + 1) % PES


class Mistakes(unittest.TestCase):
    def test_each_has_a_sentence(self) -> None:
        a, whole, plate = shmem.zeros(4), shmem.zeros(4, dtype=int), shmem.zeros((4, 4))
        askew = whole.view("u1")[1:25].view("i8")
        longs, room = shmem.zeros(1, dtype="g"), shmem.zeros(17, dtype="u1")
        odd = room[1:].view("g")
        outside, loose = shmem.TEAM_WORLD.split(-7), shmem.p  # type: shmem.Team, Any
        turned, records = shmem.zeros((4, 4), order="F"), shmem.zeros(3, dtype=[("x", "f8"), ("i", "i4")])
        cases: List[Tuple[Callable[[], Any], type, str]] = [
            (lambda: shmem.put(np.zeros(4), np.zeros(4), 0), ValueError, "put: dest: this array is not symmetric: make it with oxshmem.zeros"),
            (lambda: shmem.get(np.zeros(4), np.zeros(4), 0), ValueError, "get: source: this array is not symmetric"),
            (lambda: shmem.sum_reduce(np.zeros(4), a), ValueError, "sum_reduce: dest: this array is not symmetric"),
            (lambda: shmem.p(a[2], 1.0, 0), ValueError, r"a number that was copied out of an array: pass a slice, as a\[3:4\]"),
            (lambda: shmem.sum_reduce(a, a.sum()), ValueError, r"computed goes into a symmetric array first, as b\[0\] = a.sum\(\)$"),
            (lambda: shmem.p(a, 1.0, PES), ValueError, f"there is no PE {PES}: PEs have numbers from 0 to {PES - 1}"),
            (lambda: shmem.p(a, 1.0, -1), ValueError, "there is no PE -1"),
            (lambda: shmem.p(a, 1.0, "one"), TypeError, "the PE is 'one'"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, 1.0, 0.5), TypeError, "^p: the PE is 0.5; it is a number from 0 to"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, 1.0, 0, index=0.5), TypeError, "^p: index is 0.5; it is one number"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, 1.0, 0, index=4), IndexError, "index 4 of an array with 4 elements"),
            (lambda: shmem.p(whole, 2.5, 0), TypeError, "the value 2.5 is no integer; the array has int64"),
            (lambda: shmem.p(whole.view("i1"), 128, 0), OverflowError, "the value 128 does not fit int8"),
            (lambda: shmem.p(a, 1.0), TypeError, r"the argument pe is missing: write p\(dest, value, pe\)$"),  # type: ignore[call-arg]
            (lambda: shmem.p(a, 1.0, 0, where=1), TypeError, "p has no argument 'where'"),  # type: ignore[call-arg]
            (lambda: loose(a, 1.0, 0, pe=0), TypeError, "^p: the argument pe is given twice, by its place and by its name$"),
            (lambda: shmem.put(a, np.zeros(4, dtype=int), 0), TypeError, r"int64: convert source, as source.astype\(dest.dtype\)$"),
            (lambda: shmem.put(a[:2], np.zeros(4), 0), ValueError, r"dest has 2 elements and source has 4: take a slice of source"),
            (lambda: shmem.put(a, np.zeros((2, 4)), 0), ValueError, "dest has 4 elements and source has 8: take a part of source that"),
            (lambda: shmem.put(plate[1:3, 1:3], np.zeros((2, 2)), 0), ValueError, "Transfer it row by row"),
            (lambda: shmem.put(a, np.zeros((4, 4))[1:3, 1:3], 0), ValueError, r"row by row, or a copy of it \(numpy.ascontiguousarray\)$"),
            (lambda: shmem.get(np.zeros((2, 2)), plate[1:3, 1:3], 0), ValueError, "Transfer it row by row$"),
            (lambda: shmem.alltoall(plate, plate[1:3, 1:3]), ValueError, r"source do not lie together: .* after b\[\.\.\.\] = a$"),
            (lambda: shmem.sum_reduce(plate[1:3, 1:3], a), ValueError, r"dest do not lie together: .* afterwards, as a\[\.\.\.\] = b$"),
            (lambda: shmem.put(plate, np.zeros((4, 4)).T.copy(order="F"), 0), ValueError, r"change places: pass numpy.ascontiguousarray\(source\)$"),
            (lambda: shmem.put(turned, np.zeros((4, 4)), 0), ValueError, r"would change places: pass numpy.asfortranarray\(source\)$"),
            (lambda: shmem.get(np.zeros((4, 4)), turned, 0), ValueError, "would change places: make dest with order='F'$"),
            (lambda: shmem.get(np.zeros((4, 4), order="F"), plate, 0), ValueError, "would change places: make dest with order='C'$"),
            (lambda: shmem.sum_reduce(plate, turned), ValueError, "dest lies in order C and source in order F, .*: make both in one order"),
            (lambda: shmem.get(np.zeros(4), whole, 0), TypeError, r"^get: .*: make dest with dtype int64, as numpy.empty\(n, source.dtype\)$"),
            (lambda: shmem.iget(np.zeros(4), whole, 0), TypeError, "^iget: .*: make dest with dtype int64, as numpy.empty"),
            (lambda: shmem.sum_reduce(a, whole), TypeError, "^sum_reduce: dest has float64 and source has int64: make both with one dtype"),
            (lambda: shmem.put(a, np.broadcast_to(1.0, 4), 0), ValueError, r"number in memory \(stride 0, .*\): pass source.copy\(\)$"),
            (lambda: shmem.get(np.zeros(4), np.broadcast_to(a[:1], 4), 0), ValueError, "elements of source are one number .* of their own$"),
            (lambda: shmem.put(records["x"], np.zeros(3), 0), ValueError,
             "^put: the stride of dest is 12 bytes, which is no multiple of its elements of 8 bytes: transfer whole records"),
            (lambda: shmem.put([1, 2], np.zeros(2), 0), TypeError, "dest is no array"),  # type: ignore[arg-type]
            (lambda: shmem.put(a, [1, 2], 0), TypeError, r"source is no array: pass a numpy array, as numpy.array\(values"),  # type: ignore[arg-type]
            (lambda: shmem.put(a.view("M8[s]"), np.zeros(4), 0), TypeError, 
             r"^put: numpy does not export the memory of dest, because its dtype is datetime64\[s\]: pass a.view\(\"i8\"\)$"),
            (lambda: shmem.sum_reduce(a, a.view("m8[s]")), TypeError, r"the memory of source, because its dtype is timedelta64\[s\]: pass"),
            (lambda: shmem.put(shmem, np.zeros(4), 0), TypeError, "^put: dest is no array: pass a numpy array that"),  # type: ignore[arg-type]
            (lambda: shmem.get(np.zeros(4)[::-1], a, 0), ValueError, "^get: dest is a slice with a negative stride, .*: get it forwards, and"),
            (lambda: shmem.put(a, np.zeros(4)[::-1], 0), ValueError, r"^put: source is a slice with a negative stride, .*: pass source.copy\(\)$"),
            (lambda: shmem.max_reduce(a.view("F"), a.view("F")), TypeError, "have complex64; .*: copy them into arrays of one of these dtypes$"),
            (lambda: shmem.iput(a, np.zeros(4), 0, dst=2, nelems=3), ValueError, "^iput: 3 elements, 2 .* reach past the 4 of dest$"),
            (lambda: shmem.iput(a, np.zeros(4), 0, dst=2), ValueError,
             "^iput: 4 elements, 2 from one to the next, reach past the 4 of dest: pass a slice of source, or nelems$"),
            (lambda: shmem.iget(np.zeros(1), a, 0, sst=2), ValueError, "^iget: 2 elements, 1 from one to the next, reach past the 1 of dest"),
            (lambda: shmem.iput(a, a, 0, dst=1.5), TypeError, "^iput: dst is 1.5; it is a whole number$"),  # type: ignore[arg-type]
            (lambda: shmem.iput(a, a, 0, nelems=1 << 70), OverflowError, "^iput: nelems is .*; it is a whole number of at most 64 bits$"),
            (lambda: shmem.ibput(a, a, 0, 1, 1, "x", 1), TypeError, "^ibput: bsize is 'x'; it is a whole"),  # type: ignore[arg-type]
            (lambda: shmem.p(a.view("f2"), 1e9, 0), OverflowError, "^p: the value 1000000000.0 does not fit float16$"),
            (lambda: shmem.p(a.view("F"), 1e300, 0), OverflowError, r"^p: the value 1e\+300 does not fit complex64$"),
            (lambda: shmem.p(a.view("f4"), 1e300, 0), OverflowError, r"^p: the value 1e\+300 does not fit float32$"),
            (lambda: shmem.atomic_add(a, 1, 0), TypeError, "the array has float64; this call takes int32, uint32, int64, uint64: make it with "
             "dtype=int; sum_reduce adds floats, and so do g and p under an oxshmem.Lock$"),
            (lambda: shmem.atomic_inc(a, 0), TypeError, "the array has float64; .*: make it with dtype=int$"),
            (lambda: shmem.atomic_inc(a.view("?"), 0), TypeError, "the array has bool; this call"),
            (lambda: shmem.atomic_inc(a.view("f2"), 0), TypeError, "the array has float16; this call"),
            (lambda: shmem.atomic_inc(a.view(">i4"), 0), TypeError, "the array has >i4; .* in the byte order of this machine$"),
            (lambda: shmem.sum_reduce(a.view(">i4"), a.view(">i4")), TypeError, "the arrays have >i4; .* with dtype=\"i4\"$"),
            (lambda: shmem.put(a.view("i8"), np.zeros(2, dtype=">i8"), 0), TypeError, "source has >i8, whose bytes have another order: conv"),
            (lambda: shmem.put(a.view(">f8"), np.zeros(4, dtype=">i8"), 0), TypeError, "put: dest has >f8 and source has >i8: convert"),
            (lambda: shmem.put(a.view("i4,f4"), np.zeros(4, dtype="f4,i4"), 0), TypeError, "put: dest has .*: convert source, as"),
            (lambda: shmem.broadcast(a.view(">f8"), a.view(">i8")), TypeError, "broadcast: dest has >f8 and source has >i8: make"),
            (lambda: shmem.wait_until(a, ">=", 1), TypeError, "the array has float64; .*: make it with dtype=int$"),
            (lambda: shmem.wait_until_all(a, ">=", 1), TypeError, "the arrays have float64; .*: make them with dtype=int$"),
            (lambda: shmem.put(0.5 * a, a, 0), ValueError, "An expression or a list of indices, .* makes a new private array"),
            (lambda: shmem.put_signal(a, a, 0, np.zeros(1, "u8"), 1), ValueError, "signal: .* make it with oxshmem.new_signal"),
            (lambda: shmem.test_all(whole.view("i2"), "==", 65536), OverflowError, "test_all: the value 65536 does not fit int16"),
            (lambda: shmem.test_any(whole.view("i2"), "==", np.full(16, 1 << 16)), OverflowError, r"test_any: the value .*65536\)? does not"),
            (lambda: shmem.test_some(whole.view("u8"), "==", -1), OverflowError, "test_some: the value -1 does not fit uint64"),
            (lambda: shmem.wait_until_all(whole, "==", 0.5), TypeError, "wait_until_all: the value 0.5 is no integer"),
            (lambda: shmem.wait_until_any(whole, "==", [0, 0, 0, 0.5]), TypeError, "wait_until_any: the value 0.5 is no integer"),
            (lambda: shmem.wait_until_some(whole, "==", 0, [0, 0, 0, 1 << 32]), OverflowError, "the status 4294967296 does not fit int32"),
            (lambda: shmem.wait_until_some(whole, "==", 0, np.full(4, 0.5)), TypeError, "the status .*0.5.* is no integer"),
            (lambda: shmem.test_all(whole, 1.9, 0), ValueError, "1.9 is no comparison"),  # type: ignore[arg-type]
            (lambda: shmem4py.test_all_vector(whole, shmem.CMP.EQ, [0.5] * 4), TypeError, "test_all: the value 0.5 is no integer"),
            (lambda: shmem.wait_until(whole, "=", 1), ValueError, "is no comparison"),
            (lambda: shmem.and_reduce(a, a), TypeError, "and_reduce: the arrays have float64; this call takes bool, int8,"),
            (lambda: shmem.reduce(a, a, np.sin), ValueError, "is no operator"),
            (lambda: shmem.reduce(whole, whole, np.logical_and), TypeError, 
             "^reduce: numpy.logical_and takes arrays of bool, and source has int64: put `a != 0` into an array made with dtype=bool$"),
            (lambda: shmem.reduce_nb(whole, whole, np.logical_xor), TypeError, "numpy.logical_xor takes arrays of bool, and source has int64"),
            (lambda: shmem.reduce(a, a, np.logical_or), TypeError, "source has float64: put `a != 0` into an array"),
            (lambda: shmem.put_signal(a, np.zeros(4), 0, a, 1), TypeError, "make it with oxshmem.new_signal"),
            (lambda: shmem.put_signal(a, np.zeros(4), 0, whole.view("u8"), 1, "add"), ValueError, "op is oxshmem.SIGNAL.SET or"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, 1.0, 0, index=-9), IndexError, "p: index -9 of an array with 4 elements"),
            (lambda: shmem.p(a, 1.0, 0, index=(1, 1)), TypeError, r"p: index is \(1, 1\); it is one number"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, "x", 0), TypeError, "p: the value 'x' is no real number, which an array of float64"),  # type: ignore[arg-type]
            (lambda: shmem.p(a, 1j, 0), TypeError, "p: the value 1j is no real number, which an array of float64"),
            (lambda: shmem.Ctx(99), ValueError, "the options are 99; they are oxshmem.CTX.PRIVATE"),
            (lambda: shmem.zeros("3"), TypeError, "^zeros: the shape is '3'; it is a whole number"),  # type: ignore[arg-type]
            (lambda: shmem.zeros((1 << 31, 1 << 31)), MemoryError,
             r"^zeros: an array of the shape \(2147483648, 2147483648\) and of float64 has 2\*\*63 bytes or more, .*: pass a smaller shape$"),
            (lambda: shmem.full(1 << 64, 0, dtype="u1"), MemoryError, r"^full: an array of the shape \(18446744073709551616,\) and of uint8"),
            (lambda: shmem.zeros((2, 1.5)), TypeError, r"the shape is \(2, 1.5\); it is a whole number"),  # type: ignore[arg-type]
            (lambda: shmem.TEAM_WORLD.split_2d(0), ValueError, "rows of 0 PEs cannot be made: the width is at least 1"),
            (lambda: shmem.put(plate[1:3, 1:3], np.zeros((2, 2)), 0), ValueError, "Transfer it row by row$"),
            (lambda: shmem.sum_reduce(a, a, team=0), TypeError, "sum_reduce: team is 0; pass a team"),  # type: ignore[arg-type]
            (lambda: shmem.sum_reduce_nb(a[:2], a), ValueError, "sum_reduce_nb: dest has 2 elements and needs 4"),
            (lambda: shmem.TEAM_WORLD.split_strided(0, 2, PES + 1), ValueError, f"{PES + 1} PEs from PE 0 in steps of 2"),
            (lambda: shmem.TEAM_WORLD.split_strided(PES, 1, 1), ValueError, "are no part of a team"),
            (lambda: shmem.TEAM_WORLD.split_strided(0, 0, 2), ValueError, "in steps of 0"),
            (lambda: shmem.TEAM_WORLD.split(1 << 32), OverflowError, "Team.split: the color is 4294967296, which does not fit int32"),
            (lambda: shmem.TEAM_WORLD.split(0, 1 << 31), OverflowError, "Team.split: the key is 2147483648, which does not fit"),
            (lambda: shmem.TEAM_WORLD.split_2d(1 << 32), OverflowError, "Team.split_2d: the width is 4294967296, which does not fit"),
            (lambda: shmem.TEAM_WORLD.split_strided(0, 1, 1, np.int64(1 << 32)), OverflowError, "num_contexts is 4294967296"),  # type: ignore[arg-type]
            (lambda: shmem.TEAM_WORLD.split_strided(0, 1, 1, -1), ValueError, "Team.split_strided: num_contexts is -1; a team has 0"),
            (lambda: shmem.TEAM_WORLD.split_2d(1, -4), ValueError, "Team.split_2d: num_contexts is -4; a team has 0"),
            (lambda: shmem.TEAM_WORLD.translate_pe(1 << 32), OverflowError, "Team.translate_pe: the PE is 4294967296, which"),
            (lambda: shmem.TEAM_WORLD.translate_pe(0, outside), RuntimeError, "Team.translate_pe: this PE is not in the team"),
            (lambda: shmem4py.TEAM_WORLD.translate_pe(0, shmem4py.TEAM_INVALID), RuntimeError, "this PE is not in the team"),
            (lambda: shmem.TEAM_WORLD.translate_pe(0, 3), TypeError, "Team.translate_pe: team is 3; pass a team"),  # type: ignore[arg-type]
            (lambda: shmem.Ctx(0, outside), RuntimeError, "oxshmem.Ctx: this PE is not in the team"),
            (lambda: shmem.Team(1), TypeError, "^a team is made by TEAM_WORLD.split_strided, split_2d or split$"),
            (lambda: shmem.Team([0, 1]), TypeError, "^a team is made by TEAM_WORLD.split_strided, split_2d or split$"),
            (lambda: shmem.TEAM_WORLD.split_strided(0.5), TypeError, "Team.split_strided: the start is 0.5; it is a whole"),  # type: ignore[arg-type]
            (lambda: shmem.TEAM_WORLD.split_strided(0, 1, "x"), TypeError, "Team.split_strided: the size is 'x'; it is a"),  # type: ignore[arg-type]
            (lambda: shmem.pe_accessible(1 << 32), OverflowError, "pe_accessible: the PE is 4294967296, which does not fit"),
            (lambda: shmem.addr_accessible(a, 1 << 32), OverflowError, "addr_accessible: the PE is 4294967296, which"),
            (lambda: shmem.ptr(a, -1 << 32), OverflowError, "ptr: the PE is -4294967296, which does not fit"),
            (lambda: shmem.pe_quiet(np.full(1, 1 << 32)), OverflowError, "pe_quiet: a PE is 4294967296, which"),  # type: ignore[arg-type]
            (lambda: shmem.pe_quiet([0.7]), TypeError, "pe_quiet: a PE is 0.7; it is a whole number"),  # type: ignore[list-item]
            (lambda: shmem.pe_quiet([0, PES]), ValueError, f"^pe_quiet: there is no PE {PES}: PEs have numbers from 0 to {PES - 1}$"),
            (lambda: shmem.pe_quiet([-1]), ValueError, "^pe_quiet: there is no PE -1: PEs have numbers"),
            (lambda: shmem.pe_quiet(0), TypeError, r"^pe_quiet: pes is 0; it is a list of PEs, as \[0\]$"),  # type: ignore[arg-type]
            (lambda: shmem.quiet(3), TypeError, "^quiet: ctx is 3; pass a context that oxshmem.Ctx has made$"),  # type: ignore[arg-type]
            (lambda: shmem.fence("x"), TypeError, "^fence: ctx is 'x'; pass a context"),  # type: ignore[arg-type]
            (lambda: shmem.Ctx(team=5), TypeError, "^oxshmem.Ctx: team is 5; pass a team, as oxshmem.TEAM_WORLD"),  # type: ignore[arg-type]
            (lambda: shmem.Ctx("private"), TypeError, "the options are 'private'; they are oxshmem.CTX.PRIVATE"),  # type: ignore[arg-type]
            (lambda: shmem.Ctx(shmem.TEAM_WORLD), TypeError, r"joined by \|. A team goes by its name, as "  # type: ignore[arg-type]
             r"oxshmem.Ctx\(team=row\)$"),
            (lambda: shmem.zeros_like([1, 2]), TypeError, r"^zeros_like: other is \[1, 2\]; pass an array of numpy"),  # type: ignore[arg-type]
            (lambda: shmem.empty_like(3), TypeError, "^empty_like: other is 3; pass an array of numpy"),  # type: ignore[arg-type]
            (lambda: shmem.alltoalls(a, a, 1.0, 1, 1), TypeError, "^alltoalls: dst is 1.0; it is a whole number$"),  # type: ignore[arg-type]
            (lambda: shmem.global_exit(1 << 32), OverflowError, "global_exit: the status is 4294967296, which"),
            (lambda: shmem.pcontrol(1 << 32), OverflowError, "pcontrol: the level is 4294967296, which"),
            (lambda: shmem.init(77), ValueError, "init: there is no level of threads 77: levels are oxshmem.THREAD.SINGLE"),
            (lambda: shmem.broadcast(a, a, root=PES), ValueError, f"broadcast: the root {PES} is no member"),
            (lambda: shmem.broadcast_nb(a, a, root=PES), ValueError, f"broadcast_nb: the root {PES} is no member: they have numbers from 0"),
            (lambda: shmem.broadcast_nb(a, a, root=-1), ValueError, "broadcast_nb: the root -1 is no member"),
            (lambda: shmem.broadcast_nb(a, a, root=1 << 32), OverflowError, "broadcast_nb: the root is 4294967296, which does not fit"),
            (lambda: shmem.alltoall_nb(a, a, team=0), TypeError, "alltoall_nb: team is 0; pass a team"),  # type: ignore[arg-type]
            (lambda: shmem.fcollect_nb(a, a, team=0), TypeError, "fcollect_nb: team is 0; pass a team"),  # type: ignore[arg-type]
            (lambda: shmem.atomic_inc(askew, 0), ValueError, "atomic_inc: the elements of dest, of 8 bytes each, do not lie at multiples"),
            (lambda: shmem.atomic_fetch_inc_nbi(np.zeros(1, dtype=int), askew, 0), ValueError, "the elements of dest, of 8 bytes"),
            (lambda: shmem.atomic_fetch_add_nbi(np.zeros(1), whole, 1, 0), TypeError, "^atomic_fetch_add_nbi: fetch has float64 and dest has "
             r"int64: make fetch with dtype=dest.dtype, as numpy.empty\(1, dest.dtype\)$"),
            (lambda: shmem.atomic_fetch_add_nbi(np.zeros(1, dtype=int), a, 1, 0), TypeError, "the array has float64; this call takes"),
            (lambda: shmem.atomic_swap(askew.view("f8"), 1.0, 0), ValueError, "atomic_swap: the elements of dest, of 8 bytes"),
            (lambda: shmem.wait_until(askew, "==", 0), ValueError, "wait_until: the elements of ivar, of 8 bytes"),
            (lambda: shmem.test_all(askew, "==", 0), ValueError, "test_all: the elements of ivars, of 8 bytes"),
            (lambda: shmem.signal_set(askew.view("u8"), 1, 0), ValueError, "signal_set: the elements of signal, of 8 bytes"),
            (lambda: shmem.put_signal(a, a, 0, askew.view("u8"), 1), ValueError, "put_signal: the elements of signal, of 8 bytes"),
            (lambda: shmem.sum_reduce(longs, odd), ValueError, "^sum_reduce: the elements of source, of 16 bytes each, do not lie at multiples"),
            (lambda: shmem.max_reduce_nb(odd, longs), ValueError, "^max_reduce_nb: the elements of dest, of 16 bytes each, .* long doubles: use"),
            (lambda: shmem.sum_inscan(odd, odd), ValueError, "^sum_inscan: the elements of dest, of 16 bytes each"),
            (lambda: shmem.xor_reduce(longs, odd), TypeError, "^xor_reduce: the arrays have float128; this call takes bool, int8"),
            (lambda: shmem4py.set_lock(askew), ValueError, "set_lock: the lock does not lie at a multiple of 8 bytes"),
            (lambda: shmem4py.set_lock(whole.view("i4")[2:3]), ValueError, "set_lock: the lock has 4 bytes and needs 8: make it with"),
            (lambda: shmem4py.test_lock(whole[:0]), ValueError, "test_lock: the lock has 0 bytes"),
            (lambda: shmem4py.set_lock(np.zeros(1, dtype=int)), ValueError, "set_lock: lock: this array is not symmetric"),
            (lambda: shmem.zeros(3, dtype=object), TypeError, "arrays of Python objects cannot be symmetric"),
            (lambda: shmem.put_signal(a, np.zeros(4), 0, 0, 1), TypeError, "signal is no array: .* oxshmem.new_signal has made$"),  # type: ignore[arg-type]
            (lambda: shmem.atomic_add(whole, 1, 0, 3), TypeError, "ctx is 3; .*; an index goes by its name, as index=3$"),  # type: ignore[arg-type]
            (lambda: shmem.g(a, 0, 2), TypeError, "^g: ctx is 2; .* as index=3$"),  # type: ignore[arg-type]
            (lambda: shmem.put(a, np.zeros(4), 0, ctx=3), TypeError, "a context that oxshmem.Ctx has made$"),  # type: ignore[arg-type]
        ]
        for call, kind, text in cases:
            with self.subTest(text=text):
                with self.assertRaisesRegex(kind, text):
                    call()
        for array in (a, whole, plate, longs, room, turned, records):
            shmem.free(array)

    def test_a_collect_does_not_write_past_its_destination(self) -> None:
        n = 4 * (ME + 1)
        needed = 2 * PES * (PES + 1)
        dest, after, mine = shmem.zeros(needed - 1), shmem.zeros(needed), shmem.full(4 * PES, ME + 1.0)
        if PES > 1:
            with self.assertRaisesRegex(ValueError, f"collect: dest has {needed - 1} elements and needs {needed}"):
                shmem.collect(dest, mine[:n])
            self.assertEqual(float(after.sum()), 0.0)
        shmem.collect(after, mine[:n])
        self.assertEqual(float(after.sum()), sum(4.0 * (pe + 1) ** 2 for pe in range(PES)))
        shmem.collect_nb(after, mine[:n]).wait()
        for array in (dest, after, mine):
            shmem.free(array)

    @unittest.skipIf(PES == 1, "one member gets all")
    def test_members_share_the_source_of_an_alltoall_evenly(self) -> None:
        a, b = shmem.zeros(4 * PES), shmem.zeros(4 * PES)
        calls: List[Tuple[str, Callable[..., Any]]] = [("alltoall", shmem.alltoall), ("alltoall_nb", shmem.alltoall_nb)]
        for name, call in calls:
            with self.assertRaisesRegex(ValueError, f"^{name}: source has {4 * PES - 1} elements, which {PES} members cannot share evenly"):
                call(b, a[:-1])
        shmem.free(a)
        shmem.free(b)

    def test_a_lock_is_released_by_who_holds_it(self) -> None:
        lock = shmem.Lock()
        with self.assertRaisesRegex(RuntimeError, r"does not hold the lock: call acquire\(\) first"):
            lock.release()
        with lock:
            pass
        with self.assertRaisesRegex(RuntimeError, "does not hold the lock"):
            lock.release()
        lock.free()

    def test_a_freed_lock_takes_no_memory_of_others(self) -> None:
        lock = shmem.Lock()
        lock.free()
        after = shmem.zeros(1, dtype=int)
        calls: List[Tuple[Callable[[], Any], str]] = [
            (lock.acquire, "^Lock.acquire: this lock has been freed: make another one$"),
            (lambda: lock.acquire(blocking=False), "^Lock.acquire: this lock has been freed"),
            (lock.release, "^Lock.release: this lock has been freed"), (lock.free, "^Lock.free: this lock has been freed already$"),
        ]
        for call, text in calls:
            with self.assertRaisesRegex(RuntimeError, text):
                call()
        self.assertEqual(after[0], 0)
        shmem.free(after)

    def test_every_function_is_documented_with_an_example(self) -> None:
        for name in shmem.__all__:
            entry = getattr(shmem, name)
            if not callable(entry) or isinstance(entry, type) and name.isupper():
                continue
            with self.subTest(name=name):
                self.assertTrue(entry.__doc__)
                silent = ("info_get_name", "info_get_version", "is_running", "query_thread", "Team", "Request")
                self.assertTrue(">>>" in entry.__doc__ or name in silent)
                self.assertEqual(self.unknown_names(entry.__doc__), set())

    @staticmethod
    def unknown_names(text: str) -> Set[str]:
        """The names that an example uses and does not make."""
        lines = [line.strip()[4:] for line in text.split("\n") if line.strip().startswith((">>> ", "... "))]
        names = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        return {node.id for node in names} - made - {"shmem", "np", "print", "int", "bool"}

    def test_help_shows_no_methods_of_int(self) -> None:
        shown = pydoc.render_doc(shmem)
        self.assertNotIn("bit_length", shown)
        self.assertNotIn("capitalize", shown)
        self.assertNotIn("numpy._typing", shown)
        self.assertIn("SERIALIZED", shown)
        self.assertNotIn("Team(handle", shown)
        self.assertNotIn("Team(*", shown)
        self.assertEqual((shmem.CMP.GE + 1, shmem.OP("max"), list(shmem.THREAD)[0]), (5, shmem.OP.MAX, shmem.THREAD.SINGLE))


# Only one PE starts jobs of its own.
@unittest.skipUnless(PES == 1, "at one PE")
class Jobs(unittest.TestCase):
    def job(self, program: str, *options: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write("import oxshmem as shmem\nimport numpy as np\nimport sys\nme = shmem.my_pe()\n" + program)
            command = [sys.executable, "-m", "oxshmem", *options, path]
            return subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)

    def test_an_exception_ends_the_job(self) -> None:
        ended = self.job("if me == 1:\n    shmem.p(np.zeros(3), 1.0, 0)\nshmem.barrier_all()\n", "-n", "3")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("program.py\", line 6, in <module>", ended.stderr)
        self.assertIn("ValueError: p: dest: this array is not symmetric", ended.stderr)
        self.assertIn("exited with status 1", ended.stderr)

    def test_an_exception_ends_the_job_from_within_a_team(self) -> None:
        program = ("with shmem.TEAM_WORLD.split_strided(0, 1, 2) as team:\n"
                   "    if me == 1:\n        raise LookupError('on this PE alone')\n"
                   "    team.sync()\n")
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("LookupError: on this PE alone", ended.stderr)

    def test_tracebacks_of_several_pes_do_not_mix(self) -> None:
        program = "def deep(n):\n    deep(n - 1) if n else shmem.p(np.zeros(3), 1.0, 0)\nshmem.barrier_all()\ndeep(20)\n"
        ended = self.job(program, "-n", "4")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        pieces = ended.stderr.split("Traceback (most recent call last):\n")[1:]
        self.assertTrue(pieces)
        for piece in pieces:
            self.assertEqual(piece.count("ValueError: p: dest"), 1, ended.stderr)

    def test_a_traceback_ends_at_the_line_of_the_program(self) -> None:
        for line in ("shmem.zeros('x')", "shmem.finalize(); shmem.zeros(3)", "shmem.reduce(me, me)", "shmem.zeros(10**12)"):
            for pes in ("1", "2"):
                ended = self.job(line + "\n", "-n", pes)
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertIn("program.py\", line 5, in <module>", ended.stderr)
                self.assertNotIn("oxshmem/_", ended.stderr)

    def test_a_heap_without_room_is_told_in_words(self) -> None:
        ended = self.job("a = shmem.empty(1 << 20)\nshmem.zeros(10**12)\n", "-n", "1")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("MemoryError: zeros: the symmetric heap has no room for 7.3 TiB more; arrays take 8 MiB of it. Free arrays with "
                      "oxshmem.free; the message of PE 0 says what limits the heap, and what to do", ended.stderr)

    def test_a_heap_that_is_full_gives_back_what_all_have_dropped(self) -> None:
        program = ("from oxshmem import _arrays, _core\n"
                   "a, b, c = (shmem.empty(1 << 16, dtype='u1') for _ in range(3))\n"
                   "size = 1 << 30\n"
                   "while size:  # to the last byte, behind the back of the module\n"
                   "    size = size if _core.call(_arrays._MALLOC, 'u', size) else size // 2\n"
                   "kept = b if me == 0 else None\n"
                   "del a, b\n"
                   "c[:] = 7\n"
                   "again = shmem.zeros(1 << 16, dtype='u1')\n"
                   "assert again.sum() == 0 and (c == 7).all()\n"
                   "try:\n"
                   "    shmem.zeros(1 << 16, dtype='u1')\n"
                   "except MemoryError:\n"
                   "    sys.exit(0)\n"
                   "sys.exit(1)\n")
        os.environ["SHMEM_SYMMETRIC_SIZE"] = "8M"
        try:
            for pes in ("1", "2", "3"):
                ended = self.job(program, "-n", pes)
                self.assertEqual(ended.returncode, 0, ended.stderr)
        finally:
            del os.environ["SHMEM_SYMMETRIC_SIZE"]

    def test_a_full_heap_is_told_where_dropped_arrays_make_no_room(self) -> None:
        program = ("for _ in range(4):  # the third one has the place of the first\n"
                   "    a = shmem.empty(3 << 20, dtype='u1')\n"
                   "try:\n"
                   "    shmem.empty(8 << 20, dtype='u1')\n"
                   "except MemoryError:\n"
                   "    sys.exit(0)\n"
                   "sys.exit(1)\n")
        os.environ["SHMEM_SYMMETRIC_SIZE"] = "8M"
        try:
            for pes in ("1", "2"):
                ended = self.job(program, "-n", pes)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                self.assertEqual(ended.stderr.count("no room for"), 1, ended.stderr)
                self.assertIn("shmem_malloc: no room for 8 MiB", ended.stderr)
        finally:
            del os.environ["SHMEM_SYMMETRIC_SIZE"]

    def test_a_split_that_the_library_refuses_is_an_error_on_all_members(self) -> None:
        program = ("team = shmem.TEAM_WORLD.split_strided(0, 1, 2)\n"
                   "try:\n"
                   "    shmem.TEAM_WORLD.split_strided(0, 1, 1)\n"
                   "except RuntimeError as error:\n"
                   "    sys.exit(0 if 'no team left' in str(error) else 2)\n"
                   "sys.exit(1)\n")
        os.environ["SHMEM_TEAMS_MAX"] = "1"
        try:
            ended = self.job(program, "-n", "2")
            self.assertEqual(ended.returncode, 0, ended.stderr)
        finally:
            del os.environ["SHMEM_TEAMS_MAX"]

    def test_arrays_that_are_freed_in_another_order_are_blamed_on_earlier_calls(self) -> None:
        program = "a, b = shmem.zeros(1000), shmem.zeros(1000)\nshmem.free(a if me == 0 else b)\nshmem.zeros(1000)\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("earlier allocations or frees differ between the PEs (one PE has freed another", ended.stderr)

    def test_an_exit_status_ends_the_job(self) -> None:
        ended = self.job("if me == 1:\n    sys.exit(3)\nshmem.barrier_all()\n", "-n", "3")
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertIn("exited with status 3", ended.stderr)

    def test_programs_end_well_without_finalize(self) -> None:
        ended = self.job("a = shmem.zeros(3)\nprint(f'PE {me}')\n", "-n", "3")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(sorted(ended.stdout.split("\n")), ["", "PE 0", "PE 1", "PE 2"])
        ended = self.job("shmem.finalize()\ntry:\n    shmem.barrier_all()\nexcept RuntimeError as error:\n    print(error)\n", "-n", "2")
        self.assertEqual((ended.returncode, ended.stdout.count("has been finalized")), (0, 2), ended.stderr)

    def test_arrays_can_be_read_after_finalize(self) -> None:
        ended = self.job("a = shmem.full(3, me + 1)\nshmem.finalize()\nprint(a.sum())\n", "-n", "2")
        self.assertEqual((ended.returncode, ended.stderr, sorted(ended.stdout.split())), (0, "", ["3", "6"]))

    def test_finalize_leaves_an_exception_its_way(self) -> None:
        program = "try:\n    if me == 1:\n        raise ValueError('mine')\n    shmem.barrier_all()\nfinally:\n    shmem.finalize()\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("ValueError: mine", ended.stderr)

    def test_a_process_that_a_pe_has_started_is_told_that_it_is_no_pe(self) -> None:
        program = "import subprocess\nchild = 'import oxshmem; print(oxshmem.n_pes())'\n" \
            "ended = subprocess.run([sys.executable, '-c', child], capture_output=True, text=True) if me == 0 else None\n" \
            "if ended:\n    print(ended.returncode, ended.stdout, ended.stderr)\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue(ended.stdout.startswith("1 "), ended.stdout)
        self.assertIn("A process that a PE has started is no PE", ended.stdout)
        self.assertIn('free of oxshmem by `if __name__ == "__main__":`', ended.stdout)
        self.assertNotIn("PMI", ended.stdout)

    def test_a_process_that_has_the_socket_of_a_pe_is_no_pe(self) -> None:
        program = "import subprocess\nchild = 'import oxshmem; print(oxshmem.n_pes())'\n" \
            "if me == 0:\n    again = subprocess.run([sys.executable, '-c', child], capture_output=True, text=True, close_fds=False)\n" \
            "    print(again.returncode, again.stderr)\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue(ended.stdout.startswith("1 "), ended.stdout)
        self.assertIn("A process that a PE has started is no PE", ended.stdout)

    def test_a_process_that_a_pe_has_started_may_be_a_job_of_its_own(self) -> None:
        # Two PEs of this job write to one pipe, each line in one piece.
        child = r"import os, oxshmem; os.write(1, b'%d of %d\n' % (oxshmem.my_pe(), oxshmem.n_pes()))"
        launchers = [(["env", "SHMEM_SINGLETON=1"], 1), ([launch._oshrun(), "-n", "2"], 2)]
        if shutil.which("mpiexec.hydra"):
            launchers.append((["mpiexec.hydra", "-n", "2"], 2))
        for launcher, pes in launchers:
            with self.subTest(launcher=launcher):
                program = f"import subprocess\nchild = {launcher!r} + [sys.executable, '-c', {child!r}]\n" \
                    "if me == 0:\n    ended = subprocess.run(child, capture_output=True, text=True)\n" \
                    "    print(*sorted(ended.stdout.splitlines()), ended.returncode, ended.stderr if ended.returncode else '')\n"
                ended = self.job(program, "-n", "2")
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertEqual(ended.stdout.split(), " ".join(f"{pe} of {pes}" for pe in range(pes)).split() + ["0"])

    def test_a_forked_child_is_told_that_it_is_one(self) -> None:
        program = "import os\na = shmem.ones(3)\nchild = os.fork()\nif child == 0:\n" \
            "    for call in (lambda: shmem.put(a, a, 0), shmem.barrier_all, lambda: shmem.sum_reduce(a, a)):\n" \
            "        try:\n            call()\n        except RuntimeError as error:\n            print(error, flush=True)\n" \
            "    os._exit(int(shmem.my_pe() != me or a.sum() != 3))\n" \
            "print('child', os.waitpid(child, 0)[1])\nshmem.barrier_all()\n"
        ended = self.job(program, "-n", "2")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for pe in range(2):
            self.assertEqual(ended.stdout.count(f"this is a forked child of PE {pe}, which makes no calls"), 3, ended.stdout)
        self.assertEqual(ended.stdout.count("child 0\n"), 2)

    def test_a_request_that_brings_too_much_ends_the_job(self) -> None:
        program = "a, b = shmem.zeros(4), shmem.ones(4)\nshmem.collect_nb(a, b).wait()\n"
        ended = self.job(program, "-n", "2")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("dest has room for 32 bytes", ended.stderr)

    def test_strict_checks_name_lines_and_expect_nobody_to_free(self) -> None:
        os.environ["SHMEM_CHECK"] = "3"
        try:
            ended = self.job("a = shmem.zeros(3)\n", "-n", "2")
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            write = "import ctypes\na = shmem.zeros(8)\nctypes.memset(a.ctypes.data + 64, 1, 1)\nshmem.barrier_all()\n"
            ended = self.job(write, "-n", "1")
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("allocated at program.py:6", ended.stderr)
        finally:
            del os.environ["SHMEM_CHECK"]

    def test_a_job_behind_a_notebook(self) -> None:
        examples = os.path.join(os.path.dirname(__file__), "../../examples/python/notebook.py")
        found = importlib.util.spec_from_file_location("notebook", examples)
        assert found and found.loader
        notebook = importlib.util.module_from_spec(found)
        found.loader.exec_module(notebook)
        job = notebook.Job(2)
        self.assertEqual(job("a = shmem.full(3, shmem.my_pe())\nint(a[0]) + shmem.n_pes()"), ["2", "3"])
        self.assertEqual(job("float(a.sum())"), ["0.0", "3.0"])
        self.assertEqual(job("print('hello')\n1"), ["hello\n1"] * 2)
        self.assertEqual(job("print('gr\\udce9')"), ["gr\\udce9"] * 2)
        self.assertEqual(job("for i in range(2):\n    print(i)"), ["0\n1"] * 2)
        for cell, said in (("1 / 0", "ZeroDivisionError"), ("(", "SyntaxError"), ("import sys; sys.exit(3)", "SystemExit: 3")):
            for answer in job(cell):
                self.assertTrue(answer.startswith("Traceback") or said == "SyntaxError", answer)
                self.assertIn(said, answer)
                self.assertNotIn("notebook.py", answer)
        self.assertEqual(job("y = 3"), ["", ""])
        self.assertEqual(job("y"), ["3", "3"])
        self.assertEqual(job.end(), 0)
        job = notebook.Job(1)
        with self.assertRaisesRegex(RuntimeError, "the job has ended with status 4"):
            job("import os; os._exit(4)")
        job.end()
        with tempfile.TemporaryFile() as words:
            terminal = os.dup(2)
            os.dup2(words.fileno(), 2)
            try:
                job = notebook.Job(2)
            finally:
                os.dup2(terminal, 2)
                os.close(terminal)
            with self.assertRaisesRegex(RuntimeError, "the job has ended with status 1"):
                job("shmem.barrier_all() if shmem.my_pe() else 1 / 0")
            job.end()
            words.seek(0)
            self.assertIn("PE 0: ZeroDivisionError: division by zero", words.read().decode())

    def test_a_crash_has_a_hint_for_python(self) -> None:
        ended = self.job("import ctypes\nctypes.string_at(0)\n", "-n", "2")
        self.assertEqual(ended.returncode, 139, ended.stderr)
        self.assertIn("`python -X faulthandler` names the line", ended.stderr)

    def test_all_end_with_global_exit(self) -> None:
        ended = self.job("if me == 1:\n    shmem.global_exit(5)\nshmem.barrier_all()\n", "-n", "2")
        self.assertEqual(ended.returncode, 5, ended.stderr)

    def test_what_was_printed_is_written_before_global_exit(self) -> None:
        # The stream holds back what it gets, as Python's own does where another launcher has started it.
        program = "sys.stdout = open(1, 'w', closefd=False)\nprint('the last words')\nshmem.global_exit(5)\n"
        ended = self.job(program, "-n", "1")
        self.assertEqual((ended.returncode, ended.stdout), (5, "the last words\n"), ended.stderr)


if __name__ == "__main__":
    unittest.main()
