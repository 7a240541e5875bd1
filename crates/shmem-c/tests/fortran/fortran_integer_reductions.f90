! All reductions of INTEGER*4 and INTEGER*8.
! pes: 1 2 3 4 8
! build: -Wno-extra
program integer_reductions
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    external :: shmem_int4_and_to_all, shmem_int4_or_to_all, shmem_int4_xor_to_all, shmem_int4_max_to_all
    external :: shmem_int4_min_to_all, shmem_int4_sum_to_all, shmem_int4_prod_to_all
    external :: shmem_int8_and_to_all, shmem_int8_or_to_all, shmem_int8_xor_to_all, shmem_int8_max_to_all
    external :: shmem_int8_min_to_all, shmem_int8_sum_to_all, shmem_int8_prod_to_all

    call start()
    call check_int4(shmem_int4_and_to_all, 'int4_and')
    call check_int4(shmem_int4_or_to_all, 'int4_or')
    call check_int4(shmem_int4_xor_to_all, 'int4_xor')
    call check_int4(shmem_int4_max_to_all, 'int4_max')
    call check_int4(shmem_int4_min_to_all, 'int4_min')
    call check_int4(shmem_int4_sum_to_all, 'int4_sum')
    call check_int4(shmem_int4_prod_to_all, 'int4_prod')
    call check_int8(shmem_int8_and_to_all, 'int8_and')
    call check_int8(shmem_int8_or_to_all, 'int8_or')
    call check_int8(shmem_int8_xor_to_all, 'int8_xor')
    call check_int8(shmem_int8_max_to_all, 'int8_max')
    call check_int8(shmem_int8_min_to_all, 'int8_min')
    call check_int8(shmem_int8_sum_to_all, 'int8_sum')
    call check_int8(shmem_int8_prod_to_all, 'int8_prod')
    call finish()

end program integer_reductions

include 'check.inc'

subroutine check_int4(reduce, name)
    include 'reduction_start.inc'
    integer(4), save :: source(count), dest(count), pwrk(work)
    integer(4) :: want
    include 'reduction_frame.inc'
contains
    ! Sums and products must not overflow, the other operations see all bits.
    integer(4) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = int(operand(of_pe, at), 4) * 65537_4
        if (index(name, 'sum') > 0) operand_of = operand_of / 32
        if (index(name, 'prod') > 0) operand_of = merge(operand_of / 4, int(1 - 2 * mod(of_pe + at, 2), 4), of_pe == 0)
        if (index(name, 'prod') > 0 .and. of_pe == 2) operand_of = 2
    end function operand_of

    integer(4) function combined(left, right)
        integer(4), intent(in) :: left, right
        include 'combined_integer.inc'
    end function combined
end subroutine check_int4

subroutine check_int8(reduce, name)
    include 'reduction_start.inc'
    integer(8), save :: source(count), dest(count), pwrk(work)
    integer(8) :: want
    include 'reduction_frame.inc'
contains
    ! Sums and products must not overflow, the other operations see all bits.
    integer(8) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = int(operand(of_pe, at), 8) * 281474976710657_8
        if (index(name, 'sum') > 0) operand_of = operand_of / 32
        if (index(name, 'prod') > 0) operand_of = merge(operand_of / 4, int(1 - 2 * mod(of_pe + at, 2), 8), of_pe == 0)
        if (index(name, 'prod') > 0 .and. of_pe == 2) operand_of = 2
    end function operand_of

    integer(8) function combined(left, right)
        integer(8), intent(in) :: left, right
        include 'combined_integer.inc'
    end function combined
end subroutine check_int8
