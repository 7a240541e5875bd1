! Every put and get, between variables in COMMON and SAVE data. The routines know nothing but an element size, so one check
! with bytes serves them all; CHARACTER variables, which carry a hidden length, are passed once more as what they are.
! pes: 1 2 3 4 8
! build: -Wno-extra
program transfers
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    integer, parameter :: count = 6, largest = 16
    integer(1) :: source, dest
    common /transferred/ source(2 * count * largest), dest(2 * count * largest)
    integer(1), save :: saved(2 * count * largest)
    external :: shmem_character_put, shmem_character_get, shmem_character_put_nbi, shmem_character_get_nbi
    external :: shmem_complex_put, shmem_complex_get, shmem_complex_put_nbi, shmem_complex_get_nbi
    external :: shmem_complex_iput, shmem_complex_iget
    external :: shmem_double_put, shmem_double_get, shmem_double_put_nbi, shmem_double_get_nbi
    external :: shmem_double_iput, shmem_double_iget
    external :: shmem_integer_put, shmem_integer_get, shmem_integer_put_nbi, shmem_integer_get_nbi
    external :: shmem_integer_iput, shmem_integer_iget
    external :: shmem_logical_put, shmem_logical_get, shmem_logical_put_nbi, shmem_logical_get_nbi
    external :: shmem_logical_iput, shmem_logical_iget
    external :: shmem_real_put, shmem_real_get, shmem_real_put_nbi, shmem_real_get_nbi
    external :: shmem_real_iput, shmem_real_iget
    external :: shmem_put4, shmem_get4, shmem_put4_nbi, shmem_get4_nbi, shmem_iput4, shmem_iget4
    external :: shmem_put8, shmem_get8, shmem_put8_nbi, shmem_get8_nbi, shmem_iput8, shmem_iget8
    external :: shmem_put32, shmem_get32, shmem_put32_nbi, shmem_get32_nbi, shmem_iput32, shmem_iget32
    external :: shmem_put64, shmem_get64, shmem_put64_nbi, shmem_get64_nbi, shmem_iput64, shmem_iget64
    external :: shmem_put128, shmem_get128, shmem_put128_nbi, shmem_get128_nbi, shmem_iput128, shmem_iget128
    external :: shmem_put, shmem_putmem, shmem_getmem, shmem_putmem_nbi, shmem_getmem_nbi

    call start()
    call contiguous(shmem_character_put, shmem_character_get, 1, 'character')
    call contiguous(shmem_character_put_nbi, shmem_character_get_nbi, 1, 'character, nonblocking')
    call contiguous(shmem_complex_put, shmem_complex_get, 8, 'complex')
    call contiguous(shmem_complex_put_nbi, shmem_complex_get_nbi, 8, 'complex, nonblocking')
    call contiguous(shmem_double_put, shmem_double_get, 8, 'double')
    call contiguous(shmem_double_put_nbi, shmem_double_get_nbi, 8, 'double, nonblocking')
    call contiguous(shmem_integer_put, shmem_integer_get, 4, 'integer')
    call contiguous(shmem_integer_put_nbi, shmem_integer_get_nbi, 4, 'integer, nonblocking')
    call contiguous(shmem_logical_put, shmem_logical_get, 4, 'logical')
    call contiguous(shmem_logical_put_nbi, shmem_logical_get_nbi, 4, 'logical, nonblocking')
    call contiguous(shmem_real_put, shmem_real_get, 4, 'real')
    call contiguous(shmem_real_put_nbi, shmem_real_get_nbi, 4, 'real, nonblocking')
    call contiguous(shmem_put4, shmem_get4, 4, 'put4: 4 bytes')
    call contiguous(shmem_put4_nbi, shmem_get4_nbi, 4, 'put4_nbi')
    call contiguous(shmem_put8, shmem_get8, 8, 'put8: 8 bytes, not 8 bits')
    call contiguous(shmem_put8_nbi, shmem_get8_nbi, 8, 'put8_nbi')
    call contiguous(shmem_put32, shmem_get32, 4, 'put32')
    call contiguous(shmem_put32_nbi, shmem_get32_nbi, 4, 'put32_nbi')
    call contiguous(shmem_put64, shmem_get64, 8, 'put64')
    call contiguous(shmem_put64_nbi, shmem_get64_nbi, 8, 'put64_nbi')
    call contiguous(shmem_put128, shmem_get128, 16, 'put128')
    call contiguous(shmem_put128_nbi, shmem_get128_nbi, 16, 'put128_nbi')
    call contiguous(shmem_put, shmem_get64, 8, 'put: 8-byte elements')
    call contiguous(shmem_putmem, shmem_getmem, 1, 'putmem')
    call contiguous(shmem_putmem_nbi, shmem_getmem_nbi, 1, 'putmem_nbi')
    call strided(shmem_complex_iput, shmem_complex_iget, 8, 'complex')
    call strided(shmem_double_iput, shmem_double_iget, 8, 'double')
    call strided(shmem_integer_iput, shmem_integer_iget, 4, 'integer')
    call strided(shmem_logical_iput, shmem_logical_iget, 4, 'logical')
    call strided(shmem_real_iput, shmem_real_iget, 4, 'real')
    call strided(shmem_iput4, shmem_iget4, 4, 'iput4')
    call strided(shmem_iput8, shmem_iget8, 8, 'iput8: 8 bytes, not 8 bits')
    call strided(shmem_iput32, shmem_iget32, 4, 'iput32')
    call strided(shmem_iput64, shmem_iget64, 8, 'iput64')
    call strided(shmem_iput128, shmem_iget128, 16, 'iput128')
    call characters()
    call finish()

contains
    integer(1) function byte_of(pe, at)
        integer, intent(in) :: pe, at
        byte_of = int(mod(pe * 37 + at * 11 + 5, 101), 1)
    end function byte_of

    subroutine prepare()
        integer :: at
        do at = 1, size(source)
            source(at) = byte_of(me, at)
        end do
        dest = -1
        saved = -1
        call shmem_barrier_all()
    end subroutine prepare

    ! Put into the next PE, get back from it, each with untouched bytes behind.
    subroutine contiguous(put, get, bytes, name)
        external :: put, get
        integer, intent(in) :: bytes
        character(len=*), intent(in) :: name
        integer :: at
        call prepare()
        call put(dest, source, count, next)
        call get(saved, source, count, next)
        call shmem_barrier_all()
        do at = 1, count * bytes
            call check(dest(at) == byte_of(previous, at), name // ': put')
            call check(saved(at) == byte_of(next, at), name // ': get')
        end do
        call check(all(dest(count * bytes + 1:) == -1), name // ': put goes too far')
        call check(all(saved(count * bytes + 1:) == -1), name // ': get goes too far')
        call shmem_barrier_all()
    end subroutine contiguous

    ! Every second element of dest, the gaps untouched.
    subroutine strided(iput, iget, bytes, name)
        external :: iput, iget
        integer, intent(in) :: bytes
        character(len=*), intent(in) :: name
        integer :: element, at, from, to
        call prepare()
        call iput(dest, source, 2, 1, count, next)
        call iget(saved, source, 1, 2, count, next)
        call shmem_barrier_all()
        do element = 0, count - 1
            do at = 1, bytes
                from = element * bytes + at
                to = 2 * element * bytes + at
                call check(dest(to) == byte_of(previous, from), name // ': iput')
                call check(dest(to + bytes) == -1, name // ': iput touches a gap')
                call check(saved(from) == byte_of(next, to), name // ': iget')
            end do
        end do
        call check(all(saved(count * bytes + 1:) == -1), name // ': iget goes too far')
        call shmem_barrier_all()
    end subroutine strided

    subroutine characters()
        character(len=12), save :: text, here
        integer :: number
        write (text, '(A,I6)') 'PE num', me
        here = '------------'
        call shmem_barrier_all()
        call shmem_character_put(here, text, 12, next)
        call shmem_barrier_all()
        call check(here(1:6) == 'PE num', 'a CHARACTER variable')
        read (here(7:12), *) number
        call check(number == previous, 'a CHARACTER variable from the previous PE')
        call shmem_barrier_all()
        here = '------------'
        call shmem_character_get(here, text, 3, next)
        call check(here == 'PE ---------', 'three characters of a CHARACTER variable')
    end subroutine characters
end program transfers

include 'check.inc'
