! The module shmem_f08: transfers of all types and ranks, contexts, signals, memory.
! pes: 1 2 4
! build: -Wno-extra
program fortran_2008_transfers
    use, intrinsic :: iso_c_binding
    use shmem_f08
    implicit none
    include 'check_vars.inc'
    integer(c_int64_t), save :: signal = 0

    call start()
    call library()
    call memory()
    call types()
    call strided()
    call nonblocking()
    call contexts()
    call signals()
    call finish()

contains

    subroutine library()
        character(len=SHMEM_MAX_NAME_LEN) :: name
        integer :: major, minor, initialized, provided
        integer, save :: here
        call shmem_query_initialized(initialized)
        call shmem_query_thread(provided)
        call check(initialized == 1 .and. provided >= SHMEM_THREAD_SINGLE, 'the library is initialized')
        call shmem_info_get_version(major, minor)
        call shmem_info_get_name(name)
        call check(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'version')
        call check(name == SHMEM_VENDOR_STRING, 'name of the library')
        call check(shmem_my_pe() == me .and. shmem_n_pes() == npes, 'numbers of PEs')
        call check(shmem_pe_accessible(next) .and. .not. shmem_pe_accessible(npes), 'PEs that can be reached')
        call check(shmem_addr_accessible(here, next), 'a variable that can be reached')
        call check(c_associated(shmem_ptr(here, me), c_loc_of(here)), 'the address of my own variable')
        call check(shmemx_wtime() > 0, 'time')
        call shmem_pcontrol(1)
    end subroutine

    function c_loc_of(variable) result(address)
        integer, intent(in), target :: variable
        type(c_ptr) :: address
        address = c_loc(variable)
    end function

    subroutine memory()
        integer, pointer :: scalar
        real(8), pointer :: grid(:, :), cube(:, :, :)
        complex(8), pointer :: waves(:)
        logical, pointer :: flags(:)
        integer(8), pointer :: aligned(:), hinted(:)
        type(c_ptr) :: bytes
        integer(c_intptr_t) :: address
        call shmem_malloc(scalar)
        call shmem_malloc(grid, [3, 4])
        call shmem_calloc(cube, [2, 2, 2])
        call shmem_malloc(waves, [5])
        call shmem_calloc(flags, [6])
        call shmem_align(4096, aligned, [8])
        call shmem_malloc_with_hints(hinted, [8], SHMEM_MALLOC_ATOMICS_REMOTE)
        call shmem_malloc(bytes, 100_c_size_t)
        call check(all(shape(grid) == [3, 4]) .and. size(cube) == 8 .and. size(waves) == 5, 'shapes')
        call check(all(cube == 0) .and. .not. any(flags), 'calloc gives zeros')
        call check(modulo(transfer(c_loc(aligned), address), 4096_c_intptr_t) == 0, 'alignment')
        call check(c_associated(bytes), 'memory without a type')
        grid = 1.5d0
        call shmem_realloc(grid, [3, 8])
        call check(size(grid) == 24 .and. all(grid(:, :4) == 1.5d0), 'realloc keeps values')
        scalar = -1
        grid(:, 8) = me
        call shmem_barrier_all()
        call shmem_put(scalar, me, pe=next)
        call shmem_get(grid(:, 1), grid(:, 8), pe=next)
        call shmem_barrier_all()
        call check(scalar == previous .and. all(grid(:, 1) == next), 'transfers to allocated memory')
        call shmem_free(scalar)
        call shmem_free(grid)
        call shmem_free(cube)
        call shmem_free(waves)
        call shmem_free(flags)
        call shmem_free(aligned)
        call shmem_free(hinted)
        call shmem_free(bytes)
        call check(.not. (associated(grid) .or. associated(scalar) .or. c_associated(bytes)), 'free forgets the pointer')
        call shmem_malloc(grid, [huge(1), 1000])
        call check(.not. associated(grid), 'no room gives no pointer')
        call shmem_malloc(cube, [2**30, 2**30, 16])
        call check(.not. associated(cube), 'more elements than addresses have no room')
    end subroutine

    subroutine types()
        type pair
            integer :: number
            real(8) :: value
        end type
        integer(1), save :: i8(3)
        integer(2), save :: i16(2, 2)
        integer(4), save :: i32
        integer(8), save :: i64(4)
        real(4), save :: r32(2)
        real(8), save :: r64(2, 1, 2)
        real(c_long_double), save :: long(2)
        complex(4), save :: c32(2)
        complex(8), save :: c64(2)
        logical, save :: truth(3)
        logical(1), save :: small(3)
        character(len=7), save :: words(2)
        type(pair), save :: pairs(2)
        real(8) :: reals_of_next(2, 1, 2)
        character(len=7) :: words_of_next(2)
        type(pair) :: pairs_of_next(2)
        integer :: pe
        pe = next
        call shmem_put(i8, [1_1, 2_1, int(me, 1)], pe=pe)
        call shmem_put(i16, reshape([1_2, 2_2, 3_2, int(me, 2)], [2, 2]), pe=pe)
        call shmem_put(i32, me, pe=pe)
        call shmem_put(i64, [1_8, 2_8, 3_8, int(me, 8)], 4, pe)
        call shmem_put(r32, [0.5, real(me)], pe=pe)
        call shmem_put(r64, reshape([1d0, 2d0, 3d0, real(me, 8)], [2, 1, 2]), pe=pe)
        call shmem_put(long, [1._c_long_double, real(me, c_long_double)], pe=pe)
        call shmem_put(c32, [(1., 2.), cmplx(me, -me)], pe=pe)
        call shmem_put(c64, [(1d0, 2d0), cmplx(me, -me, 8)], pe=pe)
        call shmem_put(truth, [.true., .false., mod(me, 2) == 0], pe=pe)
        call shmem_put(small, logical([.true., .false., mod(me, 2) == 0], 1), pe=pe)
        call shmem_put(words, ['left   ', achar(65 + me) // ' right'], pe=pe)
        call shmem_putmem(pairs, [pair(1, 2d0), pair(me, me / 2d0)], 2 * storage_size(pairs) / 8, pe)
        call shmem_barrier_all()
        pe = previous
        call check(all(i8 == [1, 2, pe]) .and. i16(2, 2) == pe .and. i32 == pe .and. i64(4) == pe, 'integers')
        call check(r32(2) == pe .and. r64(2, 1, 2) == pe .and. long(2) == pe, 'reals')
        call check(c32(2) == cmplx(pe, -pe) .and. c64(2) == cmplx(pe, -pe, 8), 'complex numbers')
        call check(all(truth .eqv. [.true., .false., mod(pe, 2) == 0]), 'logicals')
        call check(all(small .eqv. [.true., .false., mod(pe, 2) == 0]), 'logicals of one byte')
        call check(words(1) == 'left' .and. words(2) == achar(65 + pe) // ' right', 'strings')
        call check(pairs(2)%number == pe .and. pairs(2)%value == pe / 2d0, 'a derived type')
        call shmem_barrier_all()
        call shmem_get(reals_of_next, r64, pe=next)
        call shmem_getmem(pairs_of_next, pairs, 2 * storage_size(pairs) / 8, next)
        call shmem_get(words_of_next, words, pe=next)
        call check(reals_of_next(2, 1, 2) == me .and. pairs_of_next(2)%number == me, 'numbers of the next one')
        call check(words_of_next(2) == achar(65 + me) // ' right', 'strings of the next one')
        call shmem_barrier_all()
        call shmem_p(i32, 7 * me, next)
        call shmem_p(r64(1, 1, 1), 0.5d0 * me, next)
        call shmem_barrier_all()
        call check(i32 == 7 * previous .and. r64(1, 1, 1) == 0.5d0 * previous, 'one element')
        call check(shmem_g(i32, next) == 7 * me .and. shmem_g(r64(1, 1, 1), next) == 0.5d0 * me, 'one element back')
        call shmem_barrier_all()
    end subroutine

    ! Parentheses make a copy of a part that does not lie together.
    subroutine strided()
        integer, save :: row(4), square(4, 4), target(4, 4)
        integer :: at, none
        square = reshape([(at, at=1, 16)], [4, 4]) + 100 * me
        target = 0
        call shmem_barrier_all()
        call shmem_put(row, (square(2, :)), pe=next)
        call shmem_iput(target(3, 1), row, 4, 1, 0, next)
        call shmem_iput(target(3, 1), square(2, 1), 4, 4, 4, next)
        call shmem_ibput(target, square, 8, 8, 2, 2, next)
        call shmem_barrier_all()
        call check(all(row == [2, 6, 10, 14] + 100 * previous), 'a row of the source')
        call check(all(target(3, :) == [2, 6, 10, 14] + 100 * previous), 'a row of the target')
        call check(all(target(1:2, 3) == [9, 10] + 100 * previous), 'strided blocks')
        row = 0
        call shmem_iget(row, square(4, 1), 1, 4, 4, next)
        call check(all(row == [4, 8, 12, 16] + 100 * next), 'a row fetched')
        call shmem_ibget(row, square, 2, 8, 2, 2, next)
        call check(all(row == [1, 2, 9, 10] + 100 * next), 'strided blocks fetched')
        target = 0
        none = 0
        call shmem_barrier_all()
        call shmem_put(target(2:3, 4:4), square(2:3, 1:1), pe=next)
        call shmem_putmem(target(1:1, 2:2), square(3:3, 1:1), 4, next)
        call shmem_put(target(3, 1:none), square(1, 1:none), pe=next)
        call shmem_barrier_all()
        call check(all(target(2:3, 4) == [2, 3] + 100 * previous), 'a column with two dimensions')
        call check(target(1, 2) == 3 + 100 * previous .and. count(target /= 0) == 3, 'one element, and none')
    end subroutine

    subroutine nonblocking()
        real(8), save, asynchronous :: there(100), back(100), mine(100)
        mine = me
        call shmem_barrier_all()
        call shmem_put_nbi(there, mine, pe=next)
        call shmem_get_nbi(back, mine, pe=next)
        call shmem_quiet()
        call check(all(back == next), 'a nonblocking get')
        call shmem_barrier_all()
        call check(all(there == previous), 'a nonblocking put')
        call shmem_barrier_all()
        call shmem_putmem_nbi(there, back, 16, next)
        call shmem_getmem_nbi(back, mine, 0, next)
        call shmem_fence()
        call shmem_pe_quiet([next])
        call shmem_barrier_all()
        call check(all(there(1:2) == me), 'bytes put without waiting')
        call shmem_barrier_all()
    end subroutine

    subroutine contexts()
        type(shmem_ctx) :: ctx
        type(shmem_team) :: team
        integer, save :: word, count
        integer :: error, copy
        word = -1
        count = 0
        call shmem_barrier_all()
        call shmem_ctx_create(SHMEM_CTX_PRIVATE, ctx, error)
        call check(error == 0 .and. ctx /= SHMEM_CTX_INVALID .and. ctx /= SHMEM_CTX_DEFAULT, 'a context')
        call ctx%session_start(SHMEM_CTX_SESSION_BATCH, shmem_ctx_session_config(2))
        call ctx%put(word, me, pe=next)
        call ctx%quiet()
        call shmem_get(ctx, copy, word, pe=next)
        call check(copy == me, 'a get on a context')
        call ctx%atomic_add(count, 3, next)
        call ctx%fence()
        call ctx%pe_quiet([next], 1)
        call ctx%session_stop()
        call shmem_ctx_session_start(ctx, 0)
        call shmem_ctx_session_stop(ctx)
        call shmem_barrier_all()
        call check(word == previous .and. count == 3, 'a put and an atomic on a context')
        call check(ctx%g(word, next) == me, 'one element on a context')
        call ctx%get_team(team, error)
        call check(error == 0 .and. team == SHMEM_TEAM_WORLD, 'the team of a context')
        call shmem_ctx_get_team(ctx, team)
        call ctx%destroy()
        call check(ctx == SHMEM_CTX_INVALID, 'destroy forgets the context')
        call shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, ctx)
        call shmem_barrier_all()
        call shmem_put(SHMEM_CTX_DEFAULT, word, 5, pe=me)
        call shmem_quiet()
        call check(word == 5 .and. c_associated(SHMEM_CTX_DEFAULT%to_c()), 'the default context')
        call shmem_ctx_destroy(ctx)
        call shmem_barrier_all()
    end subroutine

    subroutine signals()
        integer, save, asynchronous :: data(50)
        integer, asynchronous :: source(50)
        integer(c_int64_t) :: seen
        source = me + 1
        data = 0
        signal = 0
        call shmem_barrier_all()
        call shmem_put_signal(data, source, sig_addr=signal, signal=1_8, sig_op=SHMEM_SIG_SET, pe=next)
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1_8)
        call check(seen == 1 .and. all(data == previous + 1), 'a put with a signal')
        call shmem_sync_all()
        call shmem_put_signal_nbi(data, 10 * source, 50, signal, 4_8, SHMEM_SIG_ADD, next)
        call shmem_quiet()
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_GE, 5_8)
        call check(seen == 5 .and. all(data == 10 * (previous + 1)), 'a nonblocking put with a signal')
        call shmem_barrier_all()
        call shmem_signal_set(signal, 20_8, next)
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 20_8)
        call shmem_barrier_all()
        call shmem_signal_add(signal, 2_8, next)
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 22_8)
        call check(shmem_signal_fetch(signal) == 22, 'signals alone')
        call shmem_barrier_all()
        call shmem_putmem_signal(data, source, 4, signal, 30_8, SHMEM_SIG_SET, next)
        call shmem_putmem_signal_nbi(data(2), source, 4, signal, 1_8, SHMEM_SIG_ADD, next)
        seen = shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 31_8)
        call check(all(data(1:2) == previous + 1), 'bytes with a signal')
        call shmem_barrier_all()
    end subroutine

end program fortran_2008_transfers

include 'check.inc'
