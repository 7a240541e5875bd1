! Known calls of Fortran.
program recorded
  implicit none
  include 'shmem.fh'
  include 'shmem_functions.fh'
  include 'shmemx.fh'
  integer :: me, next, i
  integer(8), save :: target(4)
  integer(8) :: source(4), predefined(3), team
  call shmem_init()
  me = shmem_my_pe()
  next = mod(me + 1, shmem_n_pes())
  source = me
  do i = 1, 6
    call shmem_put8(target, source, 4, next)
  end do
  call shmem_barrier_all()
  call shmem_get8(source, target, 3, next)
  predefined = [SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_NODE]
  do i = 1, 3
    call shmemx_team_split(predefined(i), 0, me, team)
    call shmemx_team_destroy(team)
  end do
  call shmem_finalize()
end program
