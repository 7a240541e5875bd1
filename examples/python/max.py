"""The largest element at each place of an array, over all PEs."""

import numpy as np
import oxshmem as shmem

N = 1000

me, pes = shmem.my_pe(), shmem.n_pes()
source, largest = shmem.empty(N, dtype="int32"), shmem.empty(N, dtype="int32")
source[:] = (np.arange(N) * 31 + me * 17) % 1009

shmem.reduce(largest, source, np.maximum)

expected = np.max([(np.arange(N) * 31 + pe * 17) % 1009 for pe in range(pes)], axis=0)
assert np.all(largest == expected)
if me == 0:
    print(f"{N} maxima over {pes} PEs are right")
