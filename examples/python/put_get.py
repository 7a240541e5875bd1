"""A put into a neighbour's array, and a get out of it."""

import numpy as np
import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
right = (me + 1) % pes
row = shmem.zeros(5)
shmem.put(row, np.arange(5.0) + 10 * me, right)
shmem.barrier_all()  # all puts have come
assert row[0] == 10 * ((me - 1) % pes)

there = np.empty(5)
shmem.get(there, row, right)
assert np.all(there == np.arange(5) + 10 * me)
if me == 0:
    print("the neighbour has what was put")
