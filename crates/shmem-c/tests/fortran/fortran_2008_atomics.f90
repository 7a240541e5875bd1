! The module shmem_f08: atomics, waits and tests, locks.
! pes: 1 2 4
! build: -Wno-extra
program fortran_2008_atomics
    use, intrinsic :: iso_c_binding
    use shmem_f08
    implicit none
    include 'check_vars.inc'
    integer, save :: word = 0, fetched = -1, flags(4) = 0
    integer(8), save :: long = 0, longs(4) = 0
    real(8), save :: number = 0
    integer(c_long), save :: lock = 0

    call start()
    call updates()
    call bits()
    call pending()
    call local_results()
    call waits()
    call many()
    call locks()
    call finish()

contains

    subroutine updates()
        call shmem_atomic_add(word, 2, 0)
        call shmem_atomic_inc(long, 0)
        call shmem_barrier_all()
        if (me == 0) call check(word == 2 * npes .and. long == npes, 'add and inc')
        call check(shmem_atomic_fetch(word, 0) == 2 * npes, 'fetch')
        call shmem_barrier_all()
        call shmem_atomic_set(number, me + 0.5d0, next)
        call shmem_barrier_all()
        call check(number == previous + 0.5d0, 'set of a real number')
        call check(shmem_atomic_swap(number, 1d0, me) == previous + 0.5d0, 'swap of a real number')
        call check(shmem_atomic_swap(long, 10_8, me) >= 0, 'swap')
        call check(shmem_atomic_compare_swap(long, 10_8, 20_8, me) == 10 .and. long == 20, 'compare and swap')
        call check(shmem_atomic_fetch_add(long, -5_8, me) == 20 .and. long == 15, 'fetch and add')
        call check(shmem_atomic_fetch_inc(long, me) == 15 .and. long == 16, 'fetch and inc')
        call shmem_barrier_all()
    end subroutine

    subroutine bits()
        word = 12
        call shmem_atomic_and(word, 10, me)
        call shmem_quiet()
        call check(word == 8, 'and')
        call shmem_atomic_or(word, 3, me)
        call shmem_quiet()
        call check(word == 11, 'or')
        call shmem_atomic_xor(word, 1, me)
        call shmem_quiet()
        call check(word == 10, 'xor')
        call check(shmem_atomic_fetch_and(word, 6, me) == 10 .and. word == 2, 'fetch and and')
        call check(shmem_atomic_fetch_or(word, 4, me) == 2 .and. word == 6, 'fetch and or')
        call check(shmem_atomic_fetch_xor(word, 7, me) == 6 .and. word == 1, 'fetch and xor')
        call shmem_barrier_all()
    end subroutine

    subroutine pending()
        call shmem_atomic_fetch_nbi(fetched, word, me)
        call done(1, 1, 'nonblocking fetch')
        call shmem_atomic_swap_nbi(fetched, word, 12, me)
        call done(1, 12, 'nonblocking swap')
        call shmem_atomic_compare_swap_nbi(fetched, word, 12, 13, me)
        call done(12, 13, 'nonblocking compare and swap')
        call shmem_atomic_fetch_add_nbi(fetched, word, 2, me)
        call done(13, 15, 'nonblocking fetch and add')
        call shmem_atomic_fetch_inc_nbi(fetched, word, me)
        call done(15, 16, 'nonblocking fetch and inc')
        call shmem_atomic_fetch_or_nbi(fetched, word, 3, me)
        call done(16, 19, 'nonblocking fetch and or')
        call shmem_atomic_fetch_and_nbi(fetched, word, 6, me)
        call done(19, 2, 'nonblocking fetch and and')
        call shmem_atomic_fetch_xor_nbi(fetched, word, 3, me)
        call done(2, 1, 'nonblocking fetch and xor')
    end subroutine

    ! A compiler that takes local variables for unchanged by a quiet loads them too early.
    subroutine local_results()
        real(8) :: left
        integer(8) :: right
        number = me + 0.5d0
        long = me
        left = 0
        right = 0
        call shmem_barrier_all()
        if (me > 0) call shmem_atomic_fetch_nbi(left, number, me - 1)
        if (me < npes - 1) call shmem_atomic_fetch_add_nbi(right, long, 10_8, me + 1)
        call shmem_quiet()
        call check(left == merge(me - 0.5d0, 0d0, me > 0), 'a real number in a local variable')
        call check(right == merge(me + 1, 0, me < npes - 1), 'an integer in a local variable')
        call shmem_barrier_all()
        call check(long == me + merge(10, 0, me > 0), 'fetch and add with a local result')
    end subroutine

    subroutine done(before, after, what)
        integer, intent(in) :: before, after
        character(len=*), intent(in) :: what
        call shmem_quiet()
        call check(fetched == before .and. word == after, what)
    end subroutine

    subroutine waits()
        integer(c_size_t) :: indices(4)
        flags = 0
        call shmem_barrier_all()
        call check(.not. shmem_test(flags(1), SHMEM_CMP_NE, 0), 'a test that fails')
        call check(.not. shmem_test_all(flags, cmp=SHMEM_CMP_NE, cmp_value=0), 'a test of all that fails')
        call check(shmem_test_any(flags, cmp=SHMEM_CMP_NE, cmp_value=0) == 0, 'a test of any that finds none')
        call check(shmem_test_some(flags, indices=indices, cmp=SHMEM_CMP_NE, cmp_value=0) == 0, 'a test of some: none')
        call shmem_sync_all()
        call shmem_p(flags(3), 5, next)
        call shmem_wait_until(flags(3), SHMEM_CMP_EQ, 5)
        call check(shmem_test(flags(3), SHMEM_CMP_EQ, 5), 'a test that holds')
        call check(shmem_wait_until_any(flags, cmp=SHMEM_CMP_NE, cmp_value=0) == 3, 'any: positions count from one')
        call check(shmem_test_any(flags, cmp=SHMEM_CMP_NE, cmp_value=0) == 3, 'a test of any')
        call check(shmem_wait_until_some(flags, indices=indices, cmp=SHMEM_CMP_NE, cmp_value=0) == 1, 'some')
        call check(indices(1) == 3, 'the positions of some count from one')
        call check(shmem_test_some(flags, 4, indices, cmp=SHMEM_CMP_LE, cmp_value=0) == 3, 'a test of some')
        call check(all(indices(1:3) == [1, 2, 4]), 'three positions')
        call shmem_wait_until_all(flags, 4, [0, 0, 1, 0], SHMEM_CMP_EQ, 0)
        call check(shmem_test_all(flags, status=[0, 0, 1, 0], cmp=SHMEM_CMP_EQ, cmp_value=0), 'all but those left out')
        call shmem_sync_all()
    end subroutine

    subroutine many()
        integer(8), parameter :: values(4) = [1, 2, 3, 4]
        integer(c_size_t) :: indices(4)
        call shmem_put(longs, values, pe=next)
        call shmem_wait_until_all_vector(longs, cmp=SHMEM_CMP_EQ, cmp_values=values)
        call check(shmem_test_all_vector(longs, cmp=SHMEM_CMP_EQ, cmp_values=values), 'all of a vector')
        call check(shmem_wait_until_any_vector(longs, cmp=SHMEM_CMP_GE, cmp_values=[9_8, 2_8, 9_8, 9_8]) == 2, 'any of a vector')
        call check(shmem_test_any_vector(longs, cmp=SHMEM_CMP_GT, cmp_values=values) == 0, 'none of a vector')
        call check(shmem_wait_until_some_vector(longs, indices=indices, cmp=SHMEM_CMP_NE, cmp_values=[1_8, 2_8, 9_8, 9_8]) == 2, &
            'some of a vector')
        call check(all(indices(1:2) == [3, 4]), 'positions in a vector')
        call check(shmem_test_some_vector(longs, indices=indices, cmp=SHMEM_CMP_EQ, cmp_values=values) == 4, 'all are some')
        call shmem_barrier_all()
    end subroutine

    subroutine locks()
        integer :: round
        if (me == 0) word = 0
        call shmem_barrier_all()
        do round = 1, 20
            if (mod(round, 2) == 0) then
                call shmem_set_lock(lock)
            else
                do while (shmem_test_lock(lock) /= 0)
                end do
            end if
            call shmem_p(word, shmem_g(word, 0) + 1, 0)
            call shmem_quiet()
            call shmem_clear_lock(lock)
        end do
        call shmem_barrier_all()
        if (me == 0) call check(word == 20 * npes, 'a lock protects')
    end subroutine

end program fortran_2008_atomics

include 'check.inc'
