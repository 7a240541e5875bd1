"""shmem_sync_all completes no puts: python3 wrong_sync_without_quiet.py LIBRARY"""
import ctypes
import sys

shmem = ctypes.CDLL(sys.argv[1])
shmem.shmem_calloc.restype = ctypes.c_void_p
shmem.shmem_calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
shmem.shmem_long_p.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]

shmem.shmem_init()
me, pes = shmem.shmem_my_pe(), shmem.shmem_n_pes()
dest = ctypes.c_long.from_address(shmem.shmem_calloc(1, 8))
shmem.shmem_long_p(ctypes.addressof(dest), 7, (me + 1) % pes)
shmem.shmem_sync_all()
if dest.value != 7:
    shmem.shmem_global_exit(1)
shmem.shmem_finalize()
