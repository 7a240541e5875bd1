"""Heat spreads along a rod that all PEs share, with numpy arrays in symmetric memory.

oshrun -n 4 python rod.py
"""

import numpy as np
import oxshmem as shmem

CELLS, STEPS = 100, 500

me, pes = shmem.my_pe(), shmem.n_pes()
now = shmem.zeros(CELLS + 2, dtype="double")  # a cell of border on either side
largest, change = shmem.zeros(1, dtype="double"), shmem.zeros(1, dtype="double")
if me == 0:
    now[0] = 100.0  # one end of the rod is hot
shmem.barrier_all()

for _ in range(STEPS):
    if me > 0:
        shmem.put(now[CELLS + 1 :], now[1:2], me - 1)
    if me < pes - 1:
        shmem.put(now[:1], now[CELLS : CELLS + 1], me + 1)
    shmem.barrier_all()  # all borders have come
    following = 0.5 * (now[:-2] + now[2:])
    change[0] = np.abs(following - now[1:-1]).max()
    shmem.barrier_all()  # all PEs have read their borders
    now[1:-1] = following

shmem.max_reduce(largest, change)
if me == 0:
    print(f"{STEPS} steps, the last one changed a cell by at most {largest[0]:.6f}")
