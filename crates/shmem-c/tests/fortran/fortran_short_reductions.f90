! All reductions of INTEGER*2, which other libraries offer outside the standard.
! pes: 1 2 3 4 8
! build: -Wno-extra
program short_reductions
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    external :: shmem_int2_and_to_all, shmem_int2_or_to_all, shmem_int2_xor_to_all, shmem_int2_max_to_all
    external :: shmem_int2_min_to_all, shmem_int2_sum_to_all, shmem_int2_prod_to_all

    call start()
    call check_int2(shmem_int2_and_to_all, 'int2_and')
    call check_int2(shmem_int2_or_to_all, 'int2_or')
    call check_int2(shmem_int2_xor_to_all, 'int2_xor')
    call check_int2(shmem_int2_max_to_all, 'int2_max')
    call check_int2(shmem_int2_min_to_all, 'int2_min')
    call check_int2(shmem_int2_sum_to_all, 'int2_sum')
    call check_int2(shmem_int2_prod_to_all, 'int2_prod')
    call finish()

end program short_reductions

include 'check.inc'

subroutine check_int2(reduce, name)
    include 'reduction_start.inc'
    integer(2), save :: source(count), dest(count), pwrk(work)
    integer(2) :: want
    include 'reduction_frame.inc'
contains
    ! Sums and products must not overflow, the other operations see all bits.
    integer(2) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = int(operand(of_pe, at), 2)
        if (index(name, 'sum') > 0) operand_of = operand_of / 32_2
        if (index(name, 'prod') > 0) operand_of = merge(operand_of / 4_2, int(1 - 2 * mod(of_pe + at, 2), 2), of_pe == 0)
        if (index(name, 'prod') > 0 .and. of_pe == 2) operand_of = 2
    end function operand_of

    integer(2) function combined(left, right)
        integer(2), intent(in) :: left, right
        include 'combined_integer.inc'
    end function combined
end subroutine check_int2
