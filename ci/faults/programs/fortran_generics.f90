! Cray's names without a type: the type of the first argument decides.
program generics
    use shmem
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
    integer(4) :: narrow_back(6), word_back
    integer(8) :: wide_back(6)
    real(4) :: single_back(2, 3)
    real(8) :: double_back(2, 1, 3)
    complex(4) :: pair_back(3)
    complex(8) :: long_pair_back(3)
    logical(4) :: flags_back(3)
    logical(8) :: long_flags_back(3)
    integer :: me, npes, right, i

    call shmem_init()
    me = shmem_my_pe()
    npes = shmem_n_pes()
    right = mod(me + 1, npes)
    narrow = [(me + i, i = 1, 6)]
    wide = [(5000000000_8 + me + i, i = 1, 6)]
    word = me
    single = reshape([(real(me + i, 4), i = 1, 6)], [2, 3])
    double_cube = reshape([(real(me + i, 8), i = 1, 6)], [2, 1, 3])
    pair = [(cmplx(me, i, 4), i = 1, 3)]
    long_pair = [(cmplx(me, i, 8), i = 1, 3)]
    flags = [.true., .false., .true.]
    long_flags = [.true., .false., .true.]
    counter = 40
    call shmem_barrier_all()

    ! Three elements of six: an element of the wrong size would show beyond them, or not reach them.
    narrow_back = -7
    wide_back = -7
    call shmem_get(narrow_back, narrow, 3, right)
    call shmem_get(wide_back, wide, 3, right)
    call shmem_get(narrow_back(6), word, 1, right)
    call shmem_get(word_back, narrow(2), 1, right)
    call shmem_get(single_back, single, 6, right)
    call shmem_get(double_back, double_cube, 6, right)
    call shmem_get(pair_back, pair, 3, right)
    call shmem_get(long_pair_back, long_pair, 3, right)
    call shmem_get(flags_back, flags, 3, right)
    call shmem_get(long_flags_back, long_flags, 3, right)
    if (any(narrow_back /= [right + 1, right + 2, right + 3, -7, -7, right]) .or. word_back /= right + 2) stop 1
    if (any(wide_back(1:3) /= [(5000000000_8 + right + i, i = 1, 3)]) .or. any(wide_back(4:6) /= -7)) stop 2
    if (any(abs(single_back - reshape([(real(right + i, 4), i = 1, 6)], [2, 3])) > 0)) stop 3
    if (any(abs(double_back - reshape([(real(right + i, 8), i = 1, 6)], [2, 1, 3])) > 0)) stop 4
    if (any(abs(pair_back - [(cmplx(right, i, 4), i = 1, 3)]) > 0)) stop 5
    if (any(abs(long_pair_back - [(cmplx(right, i, 8), i = 1, 3)]) > 0)) stop 6
    if (any(flags_back .neqv. [.true., .false., .true.])) stop 7
    if (any(long_flags_back .neqv. [.true., .false., .true.])) stop 8

    ! Only the left neighbour changes the caller's objects.
    call shmem_barrier_all()
    if (shmem_finc(counter, right) /= 40_8 .or. shmem_fadd(counter, 6000000000_8, right) /= 41_8) stop 10
    if (shmem_cswap(counter, 6000000041_8, 9_8, right) /= 6000000041_8) stop 11
    if (shmem_cswap(word, right, 70, right) /= right .or. shmem_fadd(word, 1, right) /= 70) stop 12
    if (shmem_finc(word, right) /= 71) stop 13
    call shmem_barrier_all()
    if (counter /= 9 .or. word /= 72) stop 14
    if (me == 0) print '(A)', 'ok'
    call shmem_finalize()
end program generics
