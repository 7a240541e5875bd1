! Free form; the names of old functions are variables.
program variables
    implicit none
    include 'shmem.fh'
    integer :: my_pe, num_pes
    integer :: shmem_my_pe, shmem_n_pes
    integer, save :: here
    integer :: seen
    integer(8) :: address

    call shmem_init()
    my_pe = shmem_my_pe()
    num_pes = shmem_n_pes()
    here = my_pe
    call shmem_barrier_all()
    call shmem_integer_get(seen, here, 1, mod(my_pe + 1, num_pes))
    call shmem_barrier_all()
    address = shmem_ptr(here, my_pe)
    if (address == 0 .or. seen /= mod(my_pe + 1, num_pes)) stop 1
    if (my_pe == 0) print '(A)', 'ok'
    call shmem_finalize()
end program variables
