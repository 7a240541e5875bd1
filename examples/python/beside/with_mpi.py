"""mpi4py and oxshmem in one program: the PEs are MPI's processes, and MPI takes symmetric arrays as any others.

    pip install mpi4py mpich
    oshrun -n 4 python with_mpi.py
"""

import numpy as np
import oxshmem as shmem
from mpi4py import MPI

world = MPI.COMM_WORLD
me, pes = shmem.my_pe(), shmem.n_pes()
assert (world.Get_rank(), world.Get_size()) == (me, pes)

row = shmem.zeros(1000)
shmem.put(row, np.full(1000, float(me)), (me + 1) % pes)
shmem.barrier_all()
total = np.empty(1000)
world.Allreduce(row, total, op=MPI.SUM)
assert np.all(total == pes * (pes - 1) / 2)
if me == 0:
    print(f"{pes} PEs of both: the sum is {total[0]}")
