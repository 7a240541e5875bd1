! Counts of bytes of kind c_size_t beside those of the default kind. With an argument: one that the default kind cannot hold.
program long_counts
    use shmem_f08
    use, intrinsic :: iso_c_binding
    implicit none
    integer(1), save :: source(8), dest(64)
    integer(8), save :: signal = 0
    integer(1) :: got(8)
    integer(c_size_t), parameter :: eight = 8, beyond = 4294967296_8 + 8
    type(shmem_ctx) :: ctx
    type(shmem_team) :: world = SHMEM_TEAM_WORLD
    integer :: me, npes, next, last
    call shmem_init()
    me = shmem_my_pe()
    npes = shmem_n_pes()
    next = mod(me + 1, npes)
    last = mod(me + npes - 1, npes)
    source = int(me + 1, 1)
    call shmem_barrier_all()
    if (command_argument_count() > 0) call shmem_putmem(dest, source, beyond, next)
    call shmem_ctx_create(0, ctx)

    call shmem_putmem(dest, source, eight, next)
    call shmem_putmem(ctx, dest(9), source, eight, next)
    call ctx%putmem(dest(17), source, 8, next)
    call shmem_putmem_nbi(dest(25), source, eight, next)
    call ctx%putmem_nbi(dest(33), source, eight, next)
    call shmem_putmem_signal(dest(41), source, eight, signal, 1_8, SHMEM_SIG_ADD, next)
    call ctx%putmem_signal_nbi(dest(49), source, eight, signal, 1_8, SHMEM_SIG_ADD, next)
    call ctx%quiet()
    call shmem_barrier_all()
    if (signal /= 2 .or. any(dest(:56) /= last + 1)) error stop 'puts'

    call shmem_getmem(got, source, eight, next)
    if (any(got /= next + 1)) error stop 'get'
    call ctx%getmem(got, source, eight, last)
    if (any(got /= last + 1)) error stop 'get on a context'
    call shmem_getmem_nbi(got, source, eight, next)
    call shmem_quiet()
    if (any(got /= next + 1)) error stop 'nonblocking get'
    call shmem_barrier_all()

    call shmem_broadcastmem(world, dest, source, eight, npes - 1)
    if (any(dest(:8) /= npes)) error stop 'broadcast'
    call world%fcollectmem(dest, source, eight)
    if (any(dest(::8) /= collected())) error stop 'fcollect'
    call shmem_collectmem(world, dest, source, eight)
    if (any(dest(::8) /= collected())) error stop 'collect'
    call shmem_barrier_all()
    call shmem_alltoallmem(world, dest, source, eight / npes)
    if (dest(1) /= 1) error stop 'all-to-all'

    call shmem_ctx_destroy(ctx)
    call shmem_finalize()
    if (me == 0) print '(a)', 'ok'

contains

    ! The first element of each block of a gather; what no PE writes stays.
    function collected() result(blocks)
        integer(1) :: blocks(8)
        integer :: pe
        blocks = dest(::8)
        do pe = 1, npes
            blocks(pe) = int(pe, 1)
        end do
    end function
end program
