"""Every PE says who it is.   oshrun -n 4 python hello.py"""

import oxshmem as shmem

print(f"Hello from PE {shmem.my_pe()} of {shmem.n_pes()}")
