! A flag overtakes the data that it speaks of.
program wrong_flag_without_fence
    use shmem
    implicit none
    integer, save :: values(32), flag
    integer :: sent(32), i

    call shmem_init()
    sent = [(6 + i, i = 1, 32)]
    if (shmem_my_pe() == 0) then
        call shmem_put32(values, sent, 32, 1)
        sent(1) = 1
        call shmem_put32(flag, sent, 1, 1)
    else if (shmem_my_pe() == 1) then
        call shmem_int4_wait_until(flag, SHMEM_CMP_EQ, 1)
        if (any(values /= [(6 + i, i = 1, 32)])) call shmem_global_exit(1)
    end if
    call shmem_finalize()
end program
