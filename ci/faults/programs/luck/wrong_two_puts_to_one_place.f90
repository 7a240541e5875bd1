! Two puts to one place have no order without a fence.
program wrong_two_puts_to_one_place
    use shmem
    implicit none
    integer, save :: place(1)
    integer :: sent(1), next

    call shmem_init()
    next = mod(shmem_my_pe() + 1, shmem_n_pes())
    sent = 1
    call shmem_put32(place, sent, 1, next)
    sent = 2
    call shmem_put32(place, sent, 1, next)
    call shmem_barrier_all()
    if (place(1) /= 2) call shmem_global_exit(1)
    call shmem_finalize()
end program
