"""Heat spreads over a plate that a grid of PEs shares, with numpy arrays in symmetric memory.

Each PE has a block of the plate with a border of cells that belong to its neighbours, and puts its own edges into their
borders.
"""

import numpy as np
import oxshmem as shmem

CELLS, STEPS = 64, 400
ROW = CELLS + 2

me, pes = shmem.my_pe(), shmem.n_pes()
width = max(w for w in range(1, pes + 1) if pes % w == 0 and w * w <= pes)
height = pes // width
x, y = me % width, me // width

now = shmem.zeros((ROW, ROW), dtype="double")
change, largest = shmem.zeros(1, dtype="double"), shmem.zeros(1, dtype="double")
if x == 0:
    now[:, 0] = 100.0  # the west edge of the whole plate is hot
shmem.barrier_all()

for _ in range(STEPS):
    # A row lies together; a column is a slice with a stride.
    if y > 0:
        shmem.put(now[CELLS + 1, 1:-1], now[1, 1:-1], me - width)
    if y + 1 < height:
        shmem.put(now[0, 1:-1], now[CELLS, 1:-1], me + width)
    if x > 0:
        shmem.put(now[1:-1, CELLS + 1], now[1:-1, 1], me - 1)
    if x + 1 < width:
        shmem.put(now[1:-1, 0], now[1:-1, CELLS], me + 1)
    shmem.barrier_all()  # all borders have come
    following = 0.25 * (now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:])
    change[0] = np.abs(following - now[1:-1, 1:-1]).max()
    shmem.barrier_all()  # all PEs have read their borders
    now[1:-1, 1:-1] = following

shmem.max_reduce(largest, change)
if me == 0:
    print(f"{STEPS} steps, the last one changed a cell by at most {largest[0]:.6f}")
