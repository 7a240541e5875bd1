"""A histogram whose bins are spread over the PEs: each PE counts its data with atomics in the bins of others."""

import numpy as np
import oxshmem as shmem

BINS, DATA = 10, 500  # of each PE

me, pes = shmem.my_pe(), shmem.n_pes()
bins, everything = shmem.zeros(BINS, dtype="u8"), shmem.zeros(BINS * pes, dtype="u8")
data = np.random.default_rng(me).integers(0, BINS * pes, DATA)
for number in data:
    shmem.atomic_inc(bins, pe=int(number) // BINS, index=int(number) % BINS)
shmem.barrier_all()
shmem.fcollect(everything, bins)
expected = sum(np.bincount(np.random.default_rng(pe).integers(0, BINS * pes, DATA), minlength=BINS * pes) for pe in range(pes))
assert np.array_equal(everything, expected)
if me == 0:
    print(f"{everything.sum()} numbers are counted")
