! Start, queries, ordering and the cache calls.
! pes: 1 2 3 4 8
! build: -Wno-extra
! build: -Wno-extra -static -fno-pie
program setup
    implicit none
    include 'shmem.fh'
    include 'shmem_functions.fh'
    include 'check_vars.inc'
    integer, save :: cell(4)
    integer :: major, minor
    character(len=SHMEM_MAX_NAME_LEN) :: name
    character(len=8) :: short_name
    integer, allocatable :: private(:)

    call start()
    call check(my_pe() == me, 'MY_PE agrees with the new name')
    call check(num_pes() == npes, 'NUM_PES agrees with the new name')
    call check(me >= 0 .and. me < npes, 'the PE number is in range')

    call shmem_info_get_version(major, minor)
    call check(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'version equals the parameters')
    name = repeat('x', len(name))
    call shmem_info_get_name(name)
    call check(name == SHMEM_VENDOR_STRING, 'the name equals the parameter, padded with blanks')
    call check(index(name, char(0)) == 0, 'the name holds no NUL')
    call shmem_info_get_name(short_name)
    call check(short_name == SHMEM_VENDOR_STRING(1:min(8, len(SHMEM_VENDOR_STRING))), 'a short name is cut')

    call check(shmem_pe_accessible(next), 'the next PE is accessible')
    call check(.not. shmem_pe_accessible(npes), 'a number outside the job is not')
    call check(.not. shmem_pe_accessible(-1), 'nor is a negative one')
    call check(shmem_addr_accessible(cell, next), 'SAVE data is accessible')
    allocate (private(10))
    call check(.not. shmem_addr_accessible(private, me), 'allocated memory is not')
    call check(shmem_ptr(cell, me) == loc(cell), 'SHMEM_PTR of the own PE is the address itself')

    cell = 0
    call shmem_barrier_all()
    call shmem_integer_put(cell(1), me, 1, next)
    call shmem_fence()
    call shmem_integer_put(cell(2), me, 1, next)
    call shmem_quiet()
    call shmem_barrier_all()
    call check(cell(1) == previous .and. cell(2) == previous, 'puts ordered by fence and completed by quiet')

    call shmem_set_cache_inv()
    call shmem_set_cache_line_inv(cell)
    call shmem_clear_cache_inv()
    call shmem_udcflush()
    call shmem_udcflush_line(cell)
    call check(cell(1) == previous .and. cell(3) == 0, 'the cache calls change nothing')
    call finish()

end program setup

include 'check.inc'
