! Calls that procedures of the module shmem_f08 make for the program: profiles and reports name the program's lines. Each stands in a
! line with its name behind it. The put and the store are a race.
program module_places
  use shmem_f08
  implicit none
  real(8), pointer :: block(:)
  real(8), save :: most = 0, mine = 1

  call shmem_init()
  call shmem_malloc(block, [8]) ! allocated
  block = 0
  call shmem_barrier_all()
  call shmem_max_reduce(SHMEM_TEAM_WORLD, most, mine) ! reduced
  call shmem_team_sync(SHMEM_TEAM_WORLD) ! synchronised
  if (shmem_my_pe() == 0) call shmem_p(block(1), 1d0, 1)
  if (shmem_my_pe() == 1) block(1) = 2
  call shmem_barrier_all()
  call shmem_free(block)
  call shmem_finalize()
end program
