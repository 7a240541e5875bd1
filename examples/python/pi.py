"""Pi by random points: each PE throws its own, and a sum brings them together."""

import numpy as np
import oxshmem as shmem

POINTS = 100_000

me, pes = shmem.my_pe(), shmem.n_pes()
x, y = np.random.default_rng(me).random((2, POINTS))
inside, all_inside = shmem.full(1, int(np.sum(x * x + y * y < 1))), shmem.zeros(1, dtype=int)
shmem.reduce(all_inside, inside, np.add)
value = 4 * all_inside[0] / (POINTS * pes)
assert abs(value - np.pi) < 0.1
if me == 0:
    print(f"pi is about {value:.2f}")
