! Atomics, waits and locks. Locks and wait variables are default INTEGERs of 4 bytes: their neighbours must stay as they are.
! pes: 1 2 3 4 8
! build: -Wno-extra
program atomics
    implicit none
    include 'shmem.fh'
    include 'shmem_functions.fh'
    include 'check_vars.inc'
    integer(4), save :: small
    integer(8), save :: wide
    real(4), save :: real4
    real(8), save :: real8
    integer, save :: flags(3), lock(3), counter

    call start()
    small = 10
    wide = 10_8
    real4 = 0.5
    real8 = 0.25d0
    call shmem_barrier_all()
    call on_int4()
    call on_int8()
    call on_reals()
    call waits()
    call locks()
    call finish()

contains
    ! The next PE's variable is worked on by nobody else.
    subroutine on_int4()
        call check(shmem_int4_fetch(small, next) == 10, 'int4_fetch')
        call check(shmem_int4_fadd(small, 2147483647, next) == 10, 'int4_fadd')
        call check(shmem_int4_finc(small, next) == -2147483639, 'int4_finc after a wrap')
        call shmem_int4_add(small, 2147483640, next)
        call shmem_int4_inc(small, next)
        call shmem_quiet()
        call check(shmem_int4_cswap(small, 4, 77, next) == 3, 'int4_cswap that does not match')
        call check(shmem_int4_cswap(small, 3, 77, next) == 3, 'int4_cswap that matches')
        call check(shmem_int4_swap(small, 78, next) == 77, 'int4_swap')
        call check(shmem_swap(small, 79, next) == 78, 'swap')
        call shmem_int4_set(small, 80 + me, next)
        call shmem_barrier_all()
        call check(shmem_int4_fetch(small, me) == 80 + previous, 'int4_set')
    end subroutine on_int4

    subroutine on_int8()
        integer(8), parameter :: large = 2_8**40
        call check(shmem_int8_fetch(wide, next) == 10, 'int8_fetch')
        call check(shmem_int8_fadd(wide, large, next) == 10, 'int8_fadd')
        call check(shmem_int8_finc(wide, next) == large + 10, 'int8_finc')
        call shmem_int8_add(wide, large, next)
        call shmem_int8_inc(wide, next)
        call shmem_quiet()
        call check(shmem_int8_cswap(wide, large, 1_8, next) == 2 * large + 12, 'int8_cswap that does not match')
        call check(shmem_int8_cswap(wide, 2 * large + 12, -large, next) == 2 * large + 12, 'int8_cswap that matches')
        call check(shmem_int8_swap(wide, large, next) == -large, 'int8_swap')
        call shmem_int8_set(wide, large * (me + 1), next)
        call shmem_barrier_all()
        call check(shmem_int8_fetch(wide, me) == large * (previous + 1), 'int8_set')
    end subroutine on_int8

    subroutine on_reals()
        call check(shmem_real4_fetch(real4, next) == 0.5, 'real4_fetch')
        call check(shmem_real4_swap(real4, -1.25, next) == 0.5, 'real4_swap')
        call check(shmem_real8_fetch(real8, next) == 0.25d0, 'real8_fetch')
        call check(shmem_real8_swap(real8, 1.0d-300, next) == 0.25d0, 'real8_swap')
        call check(shmem_real4_fetch(real4, next) == -1.25, 'what was swapped in')
        call check(shmem_real8_fetch(real8, next) == 1.0d-300, 'what was swapped in')
        call shmem_real4_set(real4, me + 0.75, next)
        call shmem_real8_set(real8, me + 1.0d-9, next)
        call shmem_barrier_all()
        call check(shmem_real4_fetch(real4, me) == previous + 0.75, 'real4_set')
        call check(shmem_real8_fetch(real8, me) == previous + 1.0d-9, 'real8_set')
    end subroutine on_reals

    subroutine waits()
        flags = [-5, 0, -6]
        wide = 0
        call shmem_barrier_all()
        call shmem_int4_set(flags(2), 1, next)
        call shmem_wait(flags(2), 0)
        call check(all(flags == [-5, 1, -6]), 'wait')
        call shmem_barrier_all()
        call shmem_int4_set(flags(2), 2, next)
        call shmem_wait_until(flags(2), SHMEM_CMP_GE, 2)
        call shmem_barrier_all()
        call shmem_int4_set(flags(2), -3, next)
        call shmem_int4_wait_until(flags(2), SHMEM_CMP_LT, 0)
        call shmem_barrier_all()
        call shmem_int4_set(flags(2), 4, next)
        call shmem_int4_wait(flags(2), -3)
        call check(all(flags == [-5, 4, -6]), 'the neighbours of a wait variable')
        call shmem_int8_set(wide, 2_8**33, next)
        call shmem_int8_wait(wide, 0_8)
        call shmem_int8_wait_until(wide, SHMEM_CMP_EQ, 2_8**33)
        call shmem_barrier_all()
        call shmem_int8_set(wide, -1_8, next)
        call shmem_int8_wait_until(wide, SHMEM_CMP_LE, -1_8)
        call check(wide == -1, 'int8_wait_until')
        call shmem_barrier_all()
    end subroutine waits

    subroutine locks()
        integer :: round, seen
        lock = [-7, 0, -8]
        counter = 0
        call shmem_barrier_all()
        do round = 1, 20
            if (mod(round, 2) == 0) then
                call shmem_set_lock(lock(2))
            else
                do while (shmem_test_lock(lock(2)) /= 0)
                end do
            end if
            call shmem_integer_get(seen, counter, 1, 0)
            call shmem_integer_put(counter, seen + 1, 1, 0)
            call shmem_clear_lock(lock(2))
        end do
        call shmem_barrier_all()
        if (me == 0) call check(counter == 20 * npes, 'every turn under the lock counts')
        call check(lock(1) == -7 .and. lock(3) == -8, 'a lock is 4 bytes')
    end subroutine locks
end program atomics

include 'check.inc'
