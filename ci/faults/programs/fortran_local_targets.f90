! A halo exchange whose nonblocking gets end in local variables. A compiler that takes these for unchanged by a quiet loads them too early.
module edges
    use shmem
    implicit none
contains
    subroutine exchange(me, npes, cells, total)
        integer, intent(in) :: me, npes
        real(8), intent(in) :: cells(2)
        real(8), intent(out) :: total
        real(8) :: left, right
        left = 0
        right = 0
        if (me > 0) call shmem_double_get_nbi(left, cells(2), 1, me - 1)
        if (me < npes - 1) call shmem_double_get_nbi(right, cells(1), 1, me + 1)
        call shmem_quiet()
        total = left + right
    end subroutine

    ! A source that is written again behind the quiet.
    subroutine send(me, npes, row, value)
        integer, intent(in) :: me, npes, value
        integer, intent(inout) :: row(64)
        integer :: mine(64)
        mine = value
        call shmem_integer_put_nbi(row, mine, 64, mod(me + 1, npes))
        call shmem_quiet()
        mine = -1
        if (sum(mine) /= -64) error stop 'the source has other values'
    end subroutine
end module

program fortran_local_targets
    use edges
    implicit none
    real(8), save :: cells(2)
    integer, save :: row(64), lock(1) = 0
    real(8) :: total, expected
    integer :: me, npes
    call shmem_init()
    me = shmem_my_pe()
    npes = shmem_n_pes()
    cells = 10d0 * (me + 1)
    row = 0
    call shmem_barrier_all()
    call exchange(me, npes, cells, total)
    expected = 0
    if (me > 0) expected = 10d0 * me
    if (me < npes - 1) expected = expected + 10d0 * (me + 2)
    if (total /= expected) error stop 'a get has brought nothing'
    call send(me, npes, row, me + 5)
    call shmem_barrier_all()
    if (any(row /= mod(me + npes - 1, npes) + 5)) error stop 'a put has sent later values'
    ! A lock may be an array of one element.
    call shmem_set_lock(lock)
    call shmem_clear_lock(lock)
    if (me == 0) print '(a)', 'ok'
    call shmem_finalize()
end program
