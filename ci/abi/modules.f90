! Buffers of several types and ranks go through one routine.
program main
    use shmem
    use shmemx
    implicit none
    real(8), save :: grid(2, 3), copy(2, 3), number
    integer, save :: words(4) = 0
    character(len=5), save :: text = 'right', other = 'wrong'
    integer :: psync(SHMEM_REDUCE_SYNC_SIZE) = SHMEM_SYNC_VALUE
    real(8), save :: work(SHMEM_REDUCE_MIN_WRKDATA_SIZE)
    character(len=SHMEM_MAX_NAME_LEN) :: name
    complex(4), save :: odd(2), both(2)
    logical, save :: answers(2) = .true., answer = .false.
    integer(8) :: team, block, inside
    integer :: error
    call shmem_init()
    grid = 3
    number = 4
    call shmem_put8(copy, grid, size(grid), shmem_my_pe())
    call shmem_put8(copy(2, 3), number, 1, 0)
    call shmem_put8(words, number, 1, 0)
    call shmem_character_put(other, text, len(text), 0)
    call shmem_quiet()
    if (any(copy(1, :) /= 3) .or. copy(2, 3) /= 4 .or. transfer(words(1:2), number) /= 4 .or. words(3) /= 0) stop 1
    if (other /= 'right') stop 2
    call shmem_real8_max_to_all(number, copy(1, 1), 1, 0, 0, shmem_n_pes(), work, psync)
    if (number /= 3 .or. any(psync /= SHMEM_SYNC_VALUE)) stop 3
    if (shmem_int4_fadd(words(3), 5, 0) /= 0 .or. words(3) /= 5) stop 4
    call shmem_info_get_name(name)
    if (name /= SHMEM_VENDOR_STRING) stop 5
    call shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, team)
    if (shmemx_team_my_pe(team) /= 0) stop 6
    call shmemx_team_destroy(team)
    if (team /= SHMEM_TEAM_NULL .or. team /= SHMEM_TEAM_INVALID) stop 7
    odd = [(1.0, 2.0), (-3.0, 4.0)]
    call shmem_comp4_xor_to_all(both, odd, 2, 0, 0, 1, work, psync)
    if (any(both /= odd)) stop 8
    call shmem_get(answers(2), answer, 1, 0)
    if (answers(2) .or. .not. answers(1)) stop 14
    answers(2) = .true.
    call shmem_get(answers, answer, 1, 0)
    if (answers(1) .or. .not. answers(2)) stop 15
    call shpalloc(block, 2147483647, error, 0)
    if (error /= -2) stop 13
    call shpalloc(block, 64, error, 0)
    inside = block + 4
    call shpdeallc(inside, error, 0)
    if (error /= -5) stop 9
    call shpclmove(block, 0, error, 0)
    if (error /= -1) stop 10
    call shpdeallc(block, error, 1)
    if (error /= 0) stop 11
    call shpdeallc(block, error, 0)
    if (error /= -4) stop 12
    call shmem_finalize()
end program main
