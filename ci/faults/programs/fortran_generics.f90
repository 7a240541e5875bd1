! Cray's names without a type: the type of the first argument decides.
program generics
    use shmemx
    implicit none
    integer(4), save :: narrow(6), word
    integer(8), save :: wide(6), counter
    real(4), save :: single(2, 3)
    real(8), save :: double_cube(2, 1, 3)
    complex(4), save :: pair(3)
    complex(8), save :: long_pair(3)
    logical(4), save :: flags(3)
    logical(8), save :: long_flags(3)
    integer(4) :: narrow_back(6)
    integer(8) :: wide_back
    real(8) :: double_back(2, 1, 3)
    integer :: me, npes, right, left, i

    call shmem_init()
    me = shmem_my_pe()
    npes = shmem_n_pes()
    right = mod(me + 1, npes)
    left = mod(me + npes - 1, npes)
    narrow = -1
    wide = -1
    word = -1
    counter = 40
    flags = .false.
    long_flags = .false.
    call shmem_barrier_all()

    ! Three elements of six: an element of the wrong size would show beyond them, or not reach them.
    call shmem_put(narrow, [(me + i, i = 1, 3)], 3, right)
    call shmem_put(wide, [(5000000000_8 + me + i, i = 1, 3)], 3, right)
    call shmem_put(word, me, 1, right)
    call shmem_put(narrow(6), me, 1, right)
    call shmem_put(single, [(real(me + i, 4), i = 1, 6)], 6, right)
    call shmem_put(double_cube, [(real(me + i, 8), i = 1, 6)], 6, right)
    call shmem_put(pair, [(cmplx(me, i, 4), i = 1, 3)], 3, right)
    call shmem_put(long_pair, [(cmplx(me, i, 8), i = 1, 3)], 3, right)
    call shmem_put(flags, [logical(4) :: .true., .false., .true.], 3, right)
    call shmem_put(long_flags, [logical(8) :: .true., .false., .true.], 3, right)
    call shmem_barrier_all()
    if (any(narrow /= [left + 1, left + 2, left + 3, -1, -1, left])) stop 1
    if (any(wide(1:3) /= [(5000000000_8 + left + i, i = 1, 3)]) .or. any(wide(4:6) /= -1)) stop 2
    if (word /= left .or. any(abs(single - reshape([(real(left + i, 4), i = 1, 6)], [2, 3])) > 0)) stop 3
    if (any(abs(double_cube - reshape([(real(left + i, 8), i = 1, 6)], [2, 1, 3])) > 0)) stop 4
    if (any(abs(pair - [(cmplx(left, i, 4), i = 1, 3)]) > 0)) stop 5
    if (any(abs(long_pair - [(cmplx(left, i, 8), i = 1, 3)]) > 0)) stop 6
    if (any(flags .neqv. [.true., .false., .true.]) .or. any(long_flags .neqv. [.true., .false., .true.])) stop 7

    narrow_back = -7
    call shmem_get(narrow_back, narrow, 3, right)
    call shmem_get(wide_back, wide(3), 1, right)
    call shmem_get(double_back, double_cube, 6, right)
    if (any(narrow_back /= [me + 1, me + 2, me + 3, -7, -7, -7]) .or. wide_back /= 5000000003_8 + me) stop 8
    if (any(abs(double_back - reshape([(real(me + i, 8), i = 1, 6)], [2, 1, 3])) > 0)) stop 9

    ! Only the left neighbour changes the caller's objects.
    call shmem_barrier_all()
    if (shmem_finc(counter, right) /= 40_8 .or. shmem_fadd(counter, 6000000000_8, right) /= 41_8) stop 10
    if (shmem_cswap(counter, 6000000041_8, 9_8, right) /= 6000000041_8) stop 11
    if (shmem_cswap(word, me, 70, right) /= me .or. shmem_fadd(word, 1, right) /= 70) stop 12
    if (shmem_finc(word, right) /= 71) stop 13
    call shmem_barrier_all()
    if (counter /= 9 .or. word /= 72) stop 14
    if (me == 0) print '(A)', 'ok'
    call shmem_finalize()
end program generics
