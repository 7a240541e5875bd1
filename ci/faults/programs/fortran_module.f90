! The module declares everything; `shmem_functions.fh` declares all functions for programs that include.
program with_module
    use shmem
    implicit none
    integer(8), save :: counter = 0

    call shmem_init()
    call shmem_barrier_all()
    if (shmem_int8_fadd(counter, 1_8, 0) < 0) stop 1
    call shmem_barrier_all()
    if (my_pe() == 0 .and. counter /= num_pes()) stop 2
    call included()
    call shmem_finalize()
end program with_module

subroutine included()
    implicit none
    include 'shmem.fh'
    include 'shmem_functions.fh'

    if (shmem_my_pe() == 0 .and. shmem_n_pes() > 0) print '(A)', 'ok'
end subroutine included
