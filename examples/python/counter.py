"""PEs draw numbers from one counter, so that each piece of work is done once, by whoever is free."""

import oxshmem as shmem

PIECES = 100

counter, done = shmem.zeros(1, dtype=int), shmem.zeros(PIECES, dtype="int32")
while (piece := shmem.atomic_fetch_inc(counter, pe=0)) < PIECES:
    shmem.atomic_inc(done, pe=0, index=piece)
shmem.barrier_all()
if shmem.my_pe() == 0:
    assert done.tolist() == [1] * PIECES
    print(f"{PIECES} pieces, each done once")
