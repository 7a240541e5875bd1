! Free form; every procedure that is used is declared external.
program declared
    implicit none
    include 'shmem.fh'
    integer, external :: my_pe, num_pes, shmem_my_pe
    external :: shmem_init, shmem_finalize, shmem_barrier_all, shmem_put8, shmem_int4_sum_to_all
    integer(8), save :: here
    integer(4), save :: one = 1, all, work(SHMEM_REDUCE_MIN_WRKDATA_SIZE)
    integer, save :: psync(SHMEM_REDUCE_SYNC_SIZE) = SHMEM_SYNC_VALUE
    integer(8) :: mine

    call shmem_init()
    if (shmem_my_pe() /= my_pe()) stop 1
    mine = my_pe() + 10
    call shmem_barrier_all()
    call shmem_put8(here, mine, 1, mod(my_pe() + 1, num_pes()))
    call shmem_barrier_all()
    if (here /= 10 + mod(my_pe() + num_pes() - 1, num_pes())) stop 2
    call shmem_int4_sum_to_all(all, one, 1, 0, 0, num_pes(), work, psync)
    if (all /= num_pes()) stop 3
    if (my_pe() == 0) print '(A)', 'ok'
    call shmem_finalize()
end program declared
