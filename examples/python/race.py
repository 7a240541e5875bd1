"""Who is first? PE 0 waits for whichever of the others writes first, and then for all."""

import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
flags = shmem.zeros(pes, dtype="int32")
if me > 0:
    shmem.atomic_set(flags, 1, pe=0, index=me)
elif pes > 1:
    first = shmem.wait_until_any(flags, "==", 1)
    shmem.wait_until_all(flags, "==", 1, status=[1] + [0] * (pes - 1))  # PE 0 itself does not count
    assert first in range(1, pes)
    print("all have come")
