! The module shmem_f08: teams, collectives, scans and requests.
! pes: 1 2 4
! build: -Wno-extra
program fortran_2008_teams
    use, intrinsic :: iso_c_binding
    use shmem_f08
    implicit none
    include 'check_vars.inc'
    type(shmem_team) :: world
    integer, save :: mine(6), ours(24), sums(6)
    integer :: error

    call start()
    world = SHMEM_TEAM_WORLD
    call splits()
    call moves()
    call exchanges()
    call reductions()
    call requests()
    call finish()

contains

    subroutine splits()
        type(shmem_team) :: even, x, y
        type(shmem_team_config) :: config
        type(shmem_ctx) :: ctx
        integer :: width
        call check(world%my_pe() == me .and. world%n_pes() == npes .and. world == SHMEM_TEAM_WORLD, 'the world')
        call check(shmem_team_n_pes(SHMEM_TEAM_SHARED) >= 1 .and. SHMEM_TEAM_SHARED /= SHMEM_TEAM_INVALID, 'the shared team')
        call check(c_associated(world%to_c()), 'a handle for C')
        config%num_contexts = 1
        call world%split_strided(0, 2, (npes + 1) / 2, config, new_team=even, ierr=error)
        if (mod(me, 2) == 0) then
            call check(error == 0 .and. even%my_pe() == me / 2, 'number among the even PEs')
            call check(even%translate_pe(even%my_pe(), world) == me, 'translation')
            config%num_contexts = 9
            call even%get_config(config=config, ierr=error)
            call check(error == 0 .and. config%num_contexts == 1, 'the configuration of a team')
            call check(c_associated(even%ptr(mine, even%my_pe())), 'an address by a number in the team')
            call even%create_ctx(0, ctx, error)
            if (error == 0) then
                call ctx%destroy()
            end if
            call even%sync(error)
            call check(error == 0, 'sync')
            call even%destroy()
        end if
        call check(even == SHMEM_TEAM_INVALID, 'others, and a team that is gone, are invalid')
        if (mod(me, 2) == 0) then
            call shmemx_team_split_strided(world, 0, 2, (npes + 1) / 2, even)
            call check(even%my_pe() == me / 2 .and. even%n_pes() == (npes + 1) / 2, 'a team that its members alone make')
            call even%destroy()
        end if
        call shmemx_team_split(world, merge(0, SHMEM_COLOR_UNDEFINED, mod(me, 2) == 0), -me, even)
        if (mod(me, 2) == 0) then
            call check(even%my_pe() == (npes - 1) / 2 - me / 2, 'a team of a colour, by falling numbers')
            call even%destroy()
        end if
        call check(even == SHMEM_TEAM_INVALID, 'a PE without a colour is in no team')
        width = min(2, npes)
        call world%split_2d(width, xaxis_team=x, yaxis_team=y, ierr=error)
        call check(error == 0 .and. x%my_pe() == mod(me, width) .and. y%my_pe() == me / width, 'a grid')
        call shmem_team_destroy(x)
        call shmem_team_destroy(y)
        call shmem_team_split_2d(world, npes, xaxis_team=x, yaxis_team=y)
        call shmem_team_split_strided(x, 0, 1, npes, new_team=even)
        call shmem_team_sync(even)
        call check(shmem_team_my_pe(x) == me .and. shmem_team_translate_pe(even, me, world) == me, 'one row')
        call check(c_associated(shmem_team_ptr(world, mine, me)), 'an address in the world')
        call shmem_team_get_config(x, config=config)
        call even%destroy()
        call x%destroy()
        call y%destroy()
        x = world
        call x%split_2d(width, xaxis_team=x, yaxis_team=y, ierr=error)
        call check(error == 0 .and. x%my_pe() == mod(me, width) .and. y%my_pe() == me / width, 'a row in the place of its parent')
        call x%destroy()
        call y%destroy()
        even = world
        call shmem_team_split_strided(even, npes - 1, -1, npes, new_team=even, ierr=error)
        call check(error == 0 .and. even%my_pe() == npes - 1 - me, 'a team in the place of its parent')
        call even%destroy()
        even = world
        call shmemx_team_split_strided(even, me, 1, 1, even)
        call check(even%n_pes() == 1, 'a team of one in the place of its parent')
        call even%destroy()
    end subroutine

    subroutine moves()
        character(len=3), save :: word, words(8)
        logical, save :: truth(2), truths(16)
        complex(8), save :: wave, waves(8)
        integer :: at
        mine = [(10 * me + at, at=1, 6)]
        call shmem_sync_all()
        call world%broadcast(sums, mine, PE_root=npes - 1, ierr=error)
        call check(error == 0 .and. all(sums == [(10 * (npes - 1) + at, at=1, 6)]), 'broadcast')
        call shmem_sync_all()
        call shmem_broadcastmem(world, sums, mine, 4, 0)
        call check(sums(1) == 1, 'broadcast of bytes')
        call world%fcollect(ours(:6 * npes), mine)
        call check(all(ours(6::6) == [(10 * at + 6, at=0, npes - 1), (0, at=npes, 3)]), 'fcollect')
        call shmem_sync_all()
        ours = -1
        call shmem_sync_all()
        call shmem_collect(world, ours, mine, me + 1)
        call check(ours(1) == 1 .and. (npes < 2 .or. all(ours(2:3) == [11, 12])), 'collect of different counts')
        call shmem_sync_all()
        call shmem_fcollectmem(world, ours, mine, 4)
        call check(ours(npes) == 10 * (npes - 1) + 1, 'fcollect of bytes')
        call shmem_sync_all()
        call shmem_collectmem(world, ours, mine(2), 4)
        call check(ours(npes) == 10 * (npes - 1) + 2, 'collect of bytes')
        word = achar(65 + me) // 'bc'
        truth = [.true., mod(me, 2) == 0]
        wave = cmplx(me, -me, 8)
        call shmem_sync_all()
        call shmem_fcollect(world, words, word)
        call shmem_fcollect(world, truths, truth)
        call shmem_fcollect(world, waves, wave)
        call check(words(npes) == achar(64 + npes) // 'bc' .and. truths(1) .and. truths(2), 'strings and logicals')
        call check(waves(npes) == cmplx(npes - 1, 1 - npes, 8), 'complex numbers')
        call shmem_barrier_all()
    end subroutine

    subroutine exchanges()
        integer :: pe
        real(8), save :: out(8), in(8)
        out(:npes) = [(100d0 * me + pe, pe=0, npes - 1)]
        call shmem_barrier_all()
        call world%alltoall(in(:npes), out(:npes))
        call check(all(in(:npes) == [(100d0 * pe + me, pe=0, npes - 1)]), 'alltoall')
        in = 0
        call shmem_barrier_all()
        call shmem_alltoalls(world, in, out, 2, 1, 1)
        call check(all(in(1:2 * npes:2) == [(100d0 * pe + me, pe=0, npes - 1)]), 'alltoalls')
        call shmem_barrier_all()
        call shmem_alltoallmem(world, in, out, 8)
        call check(in(npes) == 100d0 * (npes - 1) + me, 'alltoall of bytes')
        call shmem_barrier_all()
        in = 0
        call shmem_barrier_all()
        call shmem_alltoallsmem(world, in, out, 1, 1, 8)
        call check(in(npes) == 100d0 * (npes - 1) + me, 'alltoalls of bytes')
        call shmem_barrier_all()
    end subroutine

    subroutine reductions()
        integer :: pe
        real(8), save :: part(2, 2), whole(2, 2)
        complex(4), save :: turn, turns
        integer(1), save :: small, smallest
        mine = me + 1
        part = me + 0.5d0
        turn = (0., 1.)
        small = int(-me, 1)
        call shmem_barrier_all()
        call world%sum_reduce(sums, mine, ierr=error)
        call check(error == 0 .and. all(sums == npes * (npes + 1) / 2), 'sum')
        call world%max_reduce(whole, part)
        call check(all(whole == npes - 0.5d0), 'maximum of a matrix')
        call shmem_min_reduce(world, smallest, small)
        call check(smallest == 1 - npes, 'minimum')
        call shmem_prod_reduce(world, turns, turn)
        call check(turns == (0., 1.)**npes, 'product of complex numbers')
        call shmem_sync_all()
        mine = ibset(0, me)
        call shmem_or_reduce(world, sums, mine, 1)
        call check(sums(1) == 2**npes - 1, 'or')
        call shmem_xor_reduce(world, sums(2), mine(2))
        call check(sums(2) == 2**npes - 1, 'xor')
        call shmem_and_reduce(world, sums(3), mine(3))
        call check(sums(3) == merge(1, 0, npes == 1), 'and')
        call shmem_sync_all()
        mine = me + 1
        call world%sum_inscan(sums, mine)
        call check(all(sums == (me + 1) * (me + 2) / 2), 'inclusive scan')
        call shmem_sync_all()
        call world%sum_exscan(sums, mine)
        call check(all(sums == sum([(pe, pe=0, me)])), 'exclusive scan')
        call shmem_sum_inscan(world, whole, part)
        call shmem_sum_exscan(world, whole, part)
        call shmem_sync_all()
    end subroutine

    subroutine requests()
        type(shmem_req) :: request
        integer :: at
        mine = me + 1
        call shmem_barrier_all()
        call world%sum_reduce_nb(sums, mine, request=request)
        do while (request%test() /= 0)
        end do
        call check(all(sums == npes * (npes + 1) / 2), 'a sum that returns at once')
        call check(request%handle == SHMEM_REQ_INVALID%handle, 'a request that is over')
        call shmemx_max_reduce_nb(world, sums, mine, request=request)
        call request%wait()
        call check(all(sums == npes), 'maximum that returns at once')
        call shmemx_min_reduce_nb(world, sums, mine, 6, request)
        call shmem_req_wait(request)
        call check(all(sums == 1), 'minimum that returns at once')
        call shmemx_prod_reduce_nb(world, sums, mine, request=request)
        call request%wait(error)
        call check(error == 0 .and. sums(1) == product([(at, at=1, npes)]), 'product that returns at once')
        call shmemx_and_reduce_nb(world, sums, mine, request=request)
        call request%wait()
        call check(sums(1) == merge(1, 0, npes == 1), 'and that returns at once')
        call shmemx_or_reduce_nb(world, sums, mine, request=request)
        call request%wait()
        call shmemx_xor_reduce_nb(world, sums, mine, request=request)
        call request%wait()
        call shmemx_broadcast_nb(world, sums, mine, PE_root=0, request=request)
        call request%wait()
        call check(all(sums == 1), 'broadcast that returns at once')
        call shmemx_broadcastmem_nb(world, sums, mine, 4, 0, request)
        call request%wait()
        call shmemx_collect_nb(world, ours, mine, 1, request)
        call request%wait()
        call check(all(ours(:npes) == [(at, at=1, npes)]), 'collect that returns at once')
        call shmemx_fcollect_nb(world, ours, mine, 2, request)
        call request%wait()
        call shmemx_collectmem_nb(world, ours, mine, 4, request)
        call request%wait()
        call shmemx_fcollectmem_nb(world, ours, mine, 4, request)
        call request%wait()
        call shmemx_alltoall_nb(world, ours, ours(7:), 1, request)
        call request%wait()
        call shmemx_alltoallmem_nb(world, ours, ours(7:), 4, request)
        call request%wait()
        call shmemx_sync_nb(world, request)
        call check(shmem_req_test(request) >= 0, 'a test of a request')
        call shmem_req_wait(request)
        call shmemx_barrier_all_nb(request)
        call request%wait()
    end subroutine

end program fortran_2008_teams

include 'check.inc'
