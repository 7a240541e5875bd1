"""Lists of different lengths are put behind each other on all PEs: collect."""

import numpy as np
import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
mine, everything = shmem.full(pes, me), shmem.zeros(pes * (pes + 1) // 2, dtype=int)
shmem.collect(everything, mine[: me + 1])
assert everything.tolist() == [pe for pe in range(pes) for _ in range(pe + 1)]
if me == 0:
    print(f"{everything.size} numbers of {pes} PEs")
