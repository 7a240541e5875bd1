"""Memory of PEs on the same node as an array: no call at all reads it."""

import numpy as np
import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
mine = shmem.full(1000, me)
shmem.barrier_all()
right = (me + 1) % pes
there = shmem.ptr(mine, right)
if there is None:  # on another node
    there = np.empty_like(mine)
    shmem.get(there, mine, right)
assert np.all(there == right)
shmem.barrier_all()
if me == 0:
    print(f"PE {right} has {there[0]} everywhere")
