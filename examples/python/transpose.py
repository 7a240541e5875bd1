"""A matrix whose rows are spread over the PEs is transposed: alltoall."""

import numpy as np
import oxshmem as shmem

ROWS = 8  # of each PE

me, pes = shmem.my_pe(), shmem.n_pes()
n = ROWS * pes
matrix = np.arange(n * n, dtype=float).reshape(n, n)
mine = matrix[me * ROWS : (me + 1) * ROWS]
given, got = shmem.empty((pes, ROWS, ROWS)), shmem.empty((pes, ROWS, ROWS))
given[...] = mine.reshape(ROWS, pes, ROWS).transpose(1, 2, 0)  # a block for each PE, transposed
shmem.alltoall(got, given)
result = got.transpose(1, 0, 2).reshape(ROWS, n)
assert np.array_equal(result, matrix.T[me * ROWS : (me + 1) * ROWS])
if me == 0:
    print(f"a matrix of {n} rows is transposed")
