! The variable all-to-all, the clock and the calls for threads.
! pes: 1 2 3 4 8
! build: -Wno-extra
program extensions
    implicit none
    include 'shmem.fh'
    include 'shmemx.fh'
    include 'shmemx_functions.fh'
    include 'check_vars.inc'
    integer, parameter :: most = 64, room = 40
    integer(8), save :: t_offsets(most), t_sizes(most), s_offsets(most), s_sizes(most), t_size
    integer, save :: target(room * most), source(room * most), psync(SHMEM_ALLTOALL_SYNC_SIZE)
    data psync /SHMEM_ALLTOALL_SYNC_SIZE * SHMEM_SYNC_VALUE/
    integer(8) :: total
    integer :: pe, i
    double precision :: before

    call start()
    before = shmemx_wtime()
    do pe = 0, npes - 1
        s_offsets(pe + 1) = 4 * room * (npes - 1 - pe)
        s_sizes(pe + 1) = 4 * words(me, pe)
        t_offsets(pe + 1) = 4 * room * pe
        do i = 1, words(me, pe)
            source(room * (npes - 1 - pe) + i) = sent(me, pe, i)
        end do
    end do
    target = -1
    t_sizes = 0
    call shmem_barrier_all()
    call shmemx_alltoallv(target, t_offsets, t_sizes, source, s_offsets, s_sizes, 0, 0, npes, psync)
    total = 0
    do pe = 0, npes - 1
        total = total + t_sizes(pe + 1)
        call check(t_sizes(pe + 1) == 4 * words(pe, me), 'alltoallv: bytes received')
        do i = 1, room
            call check(target(room * pe + i) == merge(sent(pe, me, i), -1, i <= words(pe, me)), 'alltoallv: data')
        end do
    end do

    target = -1
    t_size = 0
    call shmem_barrier_all()
    call shmemx_alltoallv_packed(target, int(4 * room * most, 8), t_size, source, s_offsets, s_sizes, 0, 0, npes, psync)
    call check(t_size == total, 'alltoallv_packed: bytes received')
    call check(all(target(t_size / 4 + 1:) == -1), 'alltoallv_packed goes too far')
    do pe = 0, npes - 1
        do i = 1, words(pe, me)
            call check(count(target == sent(pe, me, i)) == 1, 'alltoallv_packed: data')
        end do
    end do

    call shmem_barrier_all()
    call shmemx_thread_register()
    call shmem_integer_put(target, me, 1, next)
    call shmemx_thread_fence()
    call shmem_integer_put(target(2), me, 1, next)
    call shmemx_thread_quiet()
    call shmemx_thread_unregister()
    call shmem_barrier_all()
    call check(target(1) == previous .and. target(2) == previous, 'puts of a registered thread')
    call check(shmemx_wtime() >= before, 'the clock does not run backward')
    call finish()

contains
    integer function words(from, to)
        integer, intent(in) :: from, to
        words = mod(from * 7 + to * 3, 11)
    end function words

    integer function sent(from, to, at)
        integer, intent(in) :: from, to, at
        sent = (from * 64 + to) * 100 + at
    end function sent
end program extensions

include 'check.inc'
