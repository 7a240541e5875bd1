"""torch.distributed and oxshmem in one program: tensors that are symmetric memory, and a group of all PEs."""

import socket

import numpy as np
import oxshmem as shmem
import torch
import torch.distributed as dist

me, pes = shmem.my_pe(), shmem.n_pes()

# PE 0 tells the others where it listens.
store = dist.TCPStore(socket.gethostname(), 0, pes, True, wait_for_workers=False) if me == 0 else None
place = shmem.zeros(256, dtype="u1")
if store is not None:
    text = f"{store.host} {store.port}".encode()
    place[: len(text)] = list(text)
shmem.broadcast(place, place, root=0)
host, port = bytes(place).rstrip(b"\0").decode().split()
if store is None:
    store = dist.TCPStore(host, int(port), pes, False)
dist.init_process_group("gloo", store=store, rank=me, world_size=pes)

row = shmem.zeros(1000)
tensor = torch.from_numpy(row)  # no copy
tensor += me
dist.all_reduce(tensor)
assert np.all(row == pes * (pes - 1) / 2)

shmem.barrier_all()
shmem.put(row, np.full(1000, float(me)), (me + 1) % pes)
shmem.barrier_all()
assert torch.all(tensor == (me - 1) % pes)
if me == 0:
    print(f"{pes} PEs, torch {torch.__version__}")
dist.destroy_process_group()
