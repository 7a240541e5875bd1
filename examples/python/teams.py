"""Teams by colour: PEs of one colour find their own maximum."""

import oxshmem as shmem

me, pes = shmem.my_pe(), shmem.n_pes()
number, largest = shmem.full(1, me), shmem.zeros(1, dtype=int)
with shmem.TEAM_WORLD.split(color=me % 2) as team:
    shmem.max_reduce(largest, number, team=team)
    assert largest[0] == max(pe for pe in range(pes) if pe % 2 == me % 2)
    if me == 0:
        print(f"the largest even PE is {largest[0]} of {team.n_pes()}")
