"""Every PE says who it is.   oshrun -n 4 python hello.py"""

from shmem4py import shmem

print(f"Hello from PE {shmem.my_pe()} of {shmem.n_pes()}")
