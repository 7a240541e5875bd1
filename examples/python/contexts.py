"""Two streams of puts: the urgent one is completed without waiting for the other."""

import numpy as np
import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
right = (me + 1) % pes
bulk, word = shmem.zeros(100_000), shmem.zeros(1, dtype=int)
with shmem.Ctx() as background, shmem.Ctx() as urgent:
    shmem.put_nbi(bulk, np.full(100_000, me + 1.0), right, ctx=background)
    shmem.p(word, me + 1, right, ctx=urgent)
    urgent.quiet()  # the word has come; the bulk may be under way
    background.quiet()
shmem.barrier_all()
left = (me - 1) % pes + 1
assert word[0] == left and np.all(bulk == left)
if me == 0:
    print("both streams have come")
