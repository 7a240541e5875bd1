"""A program of shmem4py: the line of the import is all that has changed."""

import numpy as np
from oxshmem import shmem4py as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
row, total = shmem.full(10, me, dtype="i4"), shmem.zeros(10, dtype="i4")
shmem.put(row, np.full(10, me, dtype="i4"), (me + 1) % pes, size=5)
shmem.barrier_all()
shmem.sum_reduce(total, row, size=10)
assert total[0] == pes * (pes - 1) // 2
shmem.free(total)
shmem.free(row)
if me == 0:
    print("the sums are right")
