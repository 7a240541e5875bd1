"""A grid of PEs: every row and every column is a team, and each finds its maximum."""

import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
width = max(w for w in range(1, pes + 1) if pes % w == 0 and w * w <= pes)
height = pes // width
x, y = me % width, me // width

# Each PE gets the team of its row and that of its column.
row, column = shmem.TEAM_WORLD.split_2d(width)
assert (row.my_pe(), column.my_pe()) == (x, y)

value = shmem.full(1, 100 + me, dtype="int32")
row_maximum, column_maximum = shmem.zeros(1, dtype="int32"), shmem.zeros(1, dtype="int32")
shmem.max_reduce(row_maximum, value, team=row)
shmem.max_reduce(column_maximum, value, team=column)
assert row_maximum[0] == 100 + (y + 1) * width - 1
assert column_maximum[0] == 100 + (height - 1) * width + x
if me == 0:
    print(f"rows of {width} PEs, every maximum is right")
