! All reductions of REAL and COMPLEX kinds. REAL*16 has 113 significant bits: its operands show when it is handled as less.
! pes: 1 2 3 4 8
! build: -Wno-extra
program real_reductions
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    external :: shmem_real4_max_to_all, shmem_real4_min_to_all, shmem_real4_sum_to_all, shmem_real4_prod_to_all
    external :: shmem_real8_max_to_all, shmem_real8_min_to_all, shmem_real8_sum_to_all, shmem_real8_prod_to_all
    external :: shmem_real16_max_to_all, shmem_real16_min_to_all, shmem_real16_sum_to_all, shmem_real16_prod_to_all
    external :: shmem_comp4_sum_to_all, shmem_comp4_prod_to_all, shmem_comp8_sum_to_all, shmem_comp8_prod_to_all

    call start()
    call check_real4(shmem_real4_max_to_all, 'real4_max')
    call check_real4(shmem_real4_min_to_all, 'real4_min')
    call check_real4(shmem_real4_sum_to_all, 'real4_sum')
    call check_real4(shmem_real4_prod_to_all, 'real4_prod')
    call check_real8(shmem_real8_max_to_all, 'real8_max')
    call check_real8(shmem_real8_min_to_all, 'real8_min')
    call check_real8(shmem_real8_sum_to_all, 'real8_sum')
    call check_real8(shmem_real8_prod_to_all, 'real8_prod')
    call check_real16(shmem_real16_max_to_all, 'real16_max')
    call check_real16(shmem_real16_min_to_all, 'real16_min')
    call check_real16(shmem_real16_sum_to_all, 'real16_sum')
    call check_real16(shmem_real16_prod_to_all, 'real16_prod')
    call check_comp4(shmem_comp4_sum_to_all, 'comp4_sum')
    call check_comp4(shmem_comp4_prod_to_all, 'comp4_prod')
    call check_comp8(shmem_comp8_sum_to_all, 'comp8_sum')
    call check_comp8(shmem_comp8_prod_to_all, 'comp8_prod')
    call finish()

end program real_reductions

include 'check.inc'

subroutine check_real4(reduce, name)
    include 'reduction_start.inc'
    real(4), save :: source(count), dest(count), pwrk(work)
    real(4) :: want
    include 'reduction_frame.inc'
contains
    ! Exact in this kind only: a number and its copy far behind the point. Products have one such factor.
    real(4) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = operand(of_pe, at) * (1 + 2.0_4**(-4))
        if (index(name, 'prod') > 0 .and. of_pe > 0) operand_of = (1 - 2 * mod(of_pe + at, 2)) * 2.0_4**mod(of_pe, 3)
    end function operand_of

    real(4) function combined(left, right)
        real(4), intent(in) :: left, right
        include 'combined_real.inc'
    end function combined
end subroutine check_real4

subroutine check_real8(reduce, name)
    include 'reduction_start.inc'
    real(8), save :: source(count), dest(count), pwrk(work)
    real(8) :: want
    include 'reduction_frame.inc'
contains
    ! Exact in this kind only: a number and its copy far behind the point. Products have one such factor.
    real(8) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = operand(of_pe, at) * (1 + 2.0_8**(-30))
        if (index(name, 'prod') > 0 .and. of_pe > 0) operand_of = (1 - 2 * mod(of_pe + at, 2)) * 2.0_8**mod(of_pe, 3)
    end function operand_of

    real(8) function combined(left, right)
        real(8), intent(in) :: left, right
        include 'combined_real.inc'
    end function combined
end subroutine check_real8

subroutine check_real16(reduce, name)
    include 'reduction_start.inc'
    real(16), save :: source(count), dest(count), pwrk(work)
    real(16) :: want
    include 'reduction_frame.inc'
contains
    ! Exact in this kind only: a number and its copy far behind the point. Products have one such factor.
    real(16) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = operand(of_pe, at) * (1 + 2.0_16**(-90))
        if (index(name, 'prod') > 0 .and. of_pe > 0) operand_of = (1 - 2 * mod(of_pe + at, 2)) * 2.0_16**mod(of_pe, 3)
    end function operand_of

    real(16) function combined(left, right)
        real(16), intent(in) :: left, right
        include 'combined_real.inc'
    end function combined
end subroutine check_real16

subroutine check_comp4(reduce, name)
    include 'reduction_start.inc'
    complex(4), save :: source(count), dest(count), pwrk(work)
    complex(4) :: want
    include 'reduction_frame.inc'
contains
    complex(4) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = cmplx(operand(of_pe, at), operand(of_pe, at + 50), 4) * (1 + 2.0_4**(-4))
        if (index(name, 'prod') > 0 .and. of_pe > 0) operand_of = merge((0.0_4, 2.0_4), (-1.0_4, 0.0_4), mod(of_pe, 2) == 1)
    end function operand_of

    complex(4) function combined(left, right)
        complex(4), intent(in) :: left, right
        combined = merge(left + right, left * right, index(name, 'sum') > 0)
    end function combined
end subroutine check_comp4

subroutine check_comp8(reduce, name)
    include 'reduction_start.inc'
    complex(8), save :: source(count), dest(count), pwrk(work)
    complex(8) :: want
    include 'reduction_frame.inc'
contains
    complex(8) function operand_of(of_pe, at)
        integer, intent(in) :: of_pe, at
        operand_of = cmplx(operand(of_pe, at), operand(of_pe, at + 50), 8) * (1 + 2.0_8**(-30))
        if (index(name, 'prod') > 0 .and. of_pe > 0) operand_of = merge((0.0_8, 2.0_8), (-1.0_8, 0.0_8), mod(of_pe, 2) == 1)
    end function operand_of

    complex(8) function combined(left, right)
        complex(8), intent(in) :: left, right
        combined = merge(left + right, left * right, index(name, 'sum') > 0)
    end function combined
end subroutine check_comp8
