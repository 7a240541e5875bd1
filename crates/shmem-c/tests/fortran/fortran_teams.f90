! Team extensions: handles are INTEGER(KIND=8).
! pes: 1 2 3 4 8
! build: -Wno-extra
program teams
    implicit none
    include 'shmem.fh'
    include 'shmemx.fh'
    include 'shmemx_functions.fh'
    include 'check_vars.inc'
    integer(8) :: even, upper, coloured, predefined
    integer :: half, pe, want

    call start()
    half = (npes + 1) / 2
    predefined = SHMEM_TEAM_WORLD
    call check(shmemx_team_my_pe(predefined) == me, 'number in the world team')
    call check(shmemx_team_n_pes(predefined) == npes, 'size of the world team')
    predefined = SHMEM_TEAM_NODE
    call check(shmemx_team_n_pes(predefined) >= 1, 'the node team')

    call shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, half, even)
    if (mod(me, 2) == 0) then
        call check(even /= SHMEM_TEAM_NULL, 'members get a team')
        call check(shmemx_team_my_pe(even) == me / 2, 'number in the team of even PEs')
        call check(shmemx_team_n_pes(even) == half, 'size of the team of even PEs')
        do pe = 0, npes - 1
            want = merge(pe / 2, -1, mod(pe, 2) == 0)
            call check(shmemx_team_translate_pe(SHMEM_TEAM_WORLD, pe, even) == want, 'translation into the team')
        end do
        do pe = 0, half - 1
            call check(shmemx_team_translate_pe(even, pe, SHMEM_TEAM_WORLD) == 2 * pe, 'translation out of the team')
        end do
        ! Only members call, and the numbers are the parent's.
        if (me / 2 >= half / 2) then
            call shmemx_team_split_strided(even, half / 2, 1, half - half / 2, upper)
            call check(shmemx_team_my_pe(upper) == me / 2 - half / 2, 'a nested split')
            call shmemx_team_destroy(upper)
            call check(upper == SHMEM_TEAM_NULL, 'destroy sets the handle to SHMEM_TEAM_NULL')
        end if
        call shmemx_team_destroy(even)
    else
        call check(even == SHMEM_TEAM_NULL, 'outsiders get SHMEM_TEAM_NULL')
    end if

    call shmemx_team_split(SHMEM_TEAM_WORLD, mod(me, 2), -me, coloured)
    call check(shmemx_team_n_pes(coloured) == merge(half, npes / 2, mod(me, 2) == 0), 'a team for each colour')
    call check(shmemx_team_my_pe(coloured) == shmemx_team_n_pes(coloured) - 1 - me / 2, 'ordered by key')
    call shmemx_team_destroy(coloured)
    call finish()

end program teams

include 'check.inc'
