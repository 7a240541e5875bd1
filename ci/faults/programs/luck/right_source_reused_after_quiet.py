"""After a quiet the source belongs to the program again: python3 right_source_reused_after_quiet.py LIBRARY"""
import ctypes
import sys

shmem = ctypes.CDLL(sys.argv[1])
shmem.shmem_malloc.restype = ctypes.c_void_p
shmem.shmem_malloc.argtypes = [ctypes.c_size_t]
shmem.shmem_putmem_nbi.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

WORDS = 32
shmem.shmem_init()
me, pes = shmem.shmem_my_pe(), shmem.shmem_n_pes()
dest = (ctypes.c_long * WORDS).from_address(shmem.shmem_malloc(8 * WORDS))
source = (ctypes.c_long * WORDS)(*range(1, WORDS + 1))
shmem.shmem_putmem_nbi(ctypes.addressof(dest), source, 8 * WORDS, (me + 1) % pes)
shmem.shmem_quiet()
source[:] = [-1] * WORDS
shmem.shmem_barrier_all()
if list(dest) != list(range(1, WORDS + 1)):
    shmem.shmem_global_exit(1)
shmem.shmem_finalize()
