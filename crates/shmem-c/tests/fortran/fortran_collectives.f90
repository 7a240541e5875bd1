! The data collectives and barriers on active sets, pSync of default INTEGERs.
! pes: 1 2 3 4 8
! build: -Wno-extra
program collectives
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    integer, external :: operand
    integer, parameter :: count = 3, most = 64
    integer :: psync(SHMEM_SYNC_SIZE)
    data psync /SHMEM_SYNC_SIZE * SHMEM_SYNC_VALUE/
    save :: psync
    integer(4), save :: source4(2 * count * most), dest4(2 * count * most)
    integer(8), save :: source8(2 * count * most), dest8(2 * count * most)
    external :: shmem_broadcast4, shmem_broadcast32, shmem_broadcast8, shmem_broadcast64
    external :: shmem_collect4, shmem_collect32, shmem_collect8, shmem_collect64
    external :: shmem_fcollect4, shmem_fcollect32, shmem_fcollect8, shmem_fcollect64
    integer :: i

    call start()
    do i = 1, 50
        call shmem_barrier(0, 0, npes, psync)
    end do
    if (mod(me, 2) == 0) call shmem_barrier(0, 1, (npes + 1) / 2, psync)
    call check(all(psync == SHMEM_SYNC_VALUE), 'barrier restores pSync')

    call broadcast4(shmem_broadcast4, 'broadcast4')
    call broadcast4(shmem_broadcast32, 'broadcast32')
    call broadcast8(shmem_broadcast8, 'broadcast8')
    call broadcast8(shmem_broadcast64, 'broadcast64')
    call collect4(shmem_collect4, .true., 'collect4')
    call collect4(shmem_collect32, .true., 'collect32')
    call collect8(shmem_collect8, .true., 'collect8')
    call collect8(shmem_collect64, .true., 'collect64')
    call collect4(shmem_fcollect4, .false., 'fcollect4')
    call collect4(shmem_fcollect32, .false., 'fcollect32')
    call collect8(shmem_fcollect8, .false., 'fcollect8')
    call collect8(shmem_fcollect64, .false., 'fcollect64')
    call alltoalls()
    call finish()

contains
    subroutine prepare()
        integer :: element
        do element = 1, size(source4)
            source4(element) = 65537 * operand(me, element)
            source8(element) = 4294967297_8 * operand(me, element)
        end do
        dest4 = -1
        dest8 = -1
        call shmem_barrier_all()
    end subroutine prepare

    integer(4) function sent4(pe, element)
        integer, intent(in) :: pe, element
        sent4 = 65537 * operand(pe, element)
    end function sent4

    integer(8) function sent8(pe, element)
        integer, intent(in) :: pe, element
        sent8 = 4294967297_8 * operand(pe, element)
    end function sent8

    ! From the last of all PEs; its own dest stays as it is.
    subroutine broadcast4(broadcast, name)
        external :: broadcast
        character(len=*), intent(in) :: name
        integer :: element
        call prepare()
        call broadcast(dest4, source4, count, npes - 1, 0, 0, npes, psync)
        do element = 1, count
            call check(dest4(element) == merge(-1, sent4(npes - 1, element), me == npes - 1), name)
        end do
        call check(all(dest4(count + 1:) == -1) .and. all(psync == SHMEM_SYNC_VALUE), name // ' does too much')
        call shmem_barrier_all()
    end subroutine broadcast4

    subroutine broadcast8(broadcast, name)
        external :: broadcast
        character(len=*), intent(in) :: name
        integer :: element
        call prepare()
        call broadcast(dest8, source8, count, npes - 1, 0, 0, npes, psync)
        do element = 1, count
            call check(dest8(element) == merge(-1_8, sent8(npes - 1, element), me == npes - 1), name)
        end do
        call check(all(dest8(count + 1:) == -1) .and. all(psync == SHMEM_SYNC_VALUE), name // ' does too much')
        call shmem_barrier_all()
    end subroutine broadcast8

    integer function elements_of(pe, unequal)
        integer, intent(in) :: pe
        logical, intent(in) :: unequal
        elements_of = merge(mod(pe, 4), count, unequal)
    end function elements_of

    subroutine collect4(collect, unequal, name)
        external :: collect
        logical, intent(in) :: unequal
        character(len=*), intent(in) :: name
        integer :: pe, element, at
        call prepare()
        call collect(dest4, source4, elements_of(me, unequal), 0, 0, npes, psync)
        at = 0
        do pe = 0, npes - 1
            do element = 1, elements_of(pe, unequal)
                at = at + 1
                call check(dest4(at) == sent4(pe, element), name)
            end do
        end do
        call check(all(dest4(at + 1:) == -1) .and. all(psync == SHMEM_SYNC_VALUE), name // ' does too much')
        call shmem_barrier_all()
    end subroutine collect4

    subroutine collect8(collect, unequal, name)
        external :: collect
        logical, intent(in) :: unequal
        character(len=*), intent(in) :: name
        integer :: pe, element, at
        call prepare()
        call collect(dest8, source8, elements_of(me, unequal), 0, 0, npes, psync)
        at = 0
        do pe = 0, npes - 1
            do element = 1, elements_of(pe, unequal)
                at = at + 1
                call check(dest8(at) == sent8(pe, element), name)
            end do
        end do
        call check(all(dest8(at + 1:) == -1) .and. all(psync == SHMEM_SYNC_VALUE), name // ' does too much')
        call shmem_barrier_all()
    end subroutine collect8

    ! Block `me` of each PE; the strided forms take every element of the source to every second place of dest.
    subroutine alltoalls()
        integer :: pe, element, from, at
        call prepare()
        call shmem_alltoall32(dest4, source4, count, 0, 0, npes, psync)
        call shmem_barrier_all()
        call shmem_alltoall64(dest8, source8, count, 0, 0, npes, psync)
        do pe = 0, npes - 1
            do element = 1, count
                from = me * count + element
                at = pe * count + element
                call check(dest4(at) == sent4(pe, from), 'alltoall32')
                call check(dest8(at) == sent8(pe, from), 'alltoall64')
            end do
        end do
        call shmem_barrier_all()
        call prepare()
        call shmem_alltoalls32(dest4, source4, 2, 1, count, 0, 0, npes, psync)
        call shmem_barrier_all()
        call shmem_alltoalls64(dest8, source8, 2, 1, count, 0, 0, npes, psync)
        do pe = 0, npes - 1
            do element = 1, count
                from = me * count + element
                at = 2 * (pe * count + element - 1) + 1
                call check(dest4(at) == sent4(pe, from), 'alltoalls32')
                call check(dest8(at) == sent8(pe, from), 'alltoalls64')
                call check(dest4(at + 1) == -1 .and. dest8(at + 1) == -1, 'alltoalls touches a gap')
            end do
        end do
        call check(all(psync == SHMEM_SYNC_VALUE), 'alltoalls restores pSync')
    end subroutine alltoalls
end program collectives

include 'check.inc'
