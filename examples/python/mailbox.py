"""Messages of different lengths: bytes (here a pickled dictionary) with a signal that tells their number."""

import pickle

import numpy as np
import oxshmem as shmem

ROOM = 4096

me, pes = shmem.my_pe(), shmem.n_pes()
right = (me + 1) % pes
box, bytes_there = shmem.zeros(ROOM, dtype="u1"), shmem.new_signal()
letter = np.frombuffer(pickle.dumps({"from": me, "words": ["hello"] * (me + 1)}), dtype="u1")
shmem.put_signal(box, letter, right, bytes_there, letter.size)

length = shmem.signal_wait_until(bytes_there, ">", 0)
read = pickle.loads(box[:length].tobytes())
assert read["from"] == (me - 1) % pes
if me == 0:
    print(f"a letter of {len(read['words'])} words from PE {read['from']}")
