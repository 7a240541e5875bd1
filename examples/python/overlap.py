"""A sum goes on while the PE computes: a nonblocking collective as an awaitable of asyncio."""

import asyncio

import numpy as np
import oxshmem as shmem


async def main() -> None:
    me, pes = shmem.my_pe(), shmem.n_pes()
    part, total = shmem.full(1000, me + 1.0), shmem.zeros(1000)
    request = shmem.sum_reduce_nb(total, part)
    own = np.sqrt(np.arange(100_000.0)).sum()  # work of this PE
    await request
    assert np.all(total == pes * (pes + 1) / 2) and own > 0
    if me == 0:
        print(f"the sum came while PE 0 computed: {total[0]:.0f}")


asyncio.run(main())
