"""A message travels around the ring of PEs: each PE waits for it, adds its number and hands it on."""

import numpy as np
import oxshmem as shmem

ROUNDS = 100

me, pes = shmem.my_pe(), shmem.n_pes()
message = shmem.zeros(1, dtype="int64")
arrived = shmem.new_signal()  # how many messages have come
shmem.barrier_all()

for number in range(1, ROUNDS + 1):
    total = np.zeros(1, dtype="int64")
    if me != 0:
        shmem.signal_wait_until(arrived, ">=", number)
        total[:] = message
    total += me
    # Data and notice in one call: the signal changes after the data has come.
    shmem.put_signal(message, total, (me + 1) % pes, arrived, 1, shmem.SIGNAL.ADD)
    if me == 0:
        shmem.signal_wait_until(arrived, ">=", number)

if me == 0:
    print(f"{ROUNDS} rounds, the sum of all PE numbers is {message[0]}")
