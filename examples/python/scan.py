"""Where does the part of each PE begin in a common file? The sum of what the PEs before it have."""

import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
length, begin = shmem.full(1, 100 + me), shmem.zeros(1, dtype=int)
shmem.sum_exscan(begin, length)
assert begin[0] == sum(100 + pe for pe in range(me))
if me == pes - 1:
    print(f"the last part begins at {begin[0]}")
