"""A lock protects a list on PE 0 that all PEs extend."""

import numpy as np
import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
names, length, lock = shmem.zeros(100, dtype="S10"), shmem.zeros(1, dtype=int), shmem.Lock()
with lock:
    end = shmem.g(length, pe=0)
    shmem.put(names[end : end + 1], np.array([f"PE {me}"], dtype="S10"), pe=0)
    shmem.p(length, end + 1, pe=0)
shmem.barrier_all()
if me == 0:
    assert sorted(names[:pes].tolist()) == sorted(f"PE {pe}".encode() for pe in range(pes))
    print(f"{length[0]} names are in the list")
