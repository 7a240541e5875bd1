! A team of the PEs with even numbers: the members alone make it (Cray's extension).
program teams
  use shmem
  use shmemx
  implicit none

  integer(8) :: even
  integer :: me, pes, evens

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  evens = (pes + 1) / 2
  if (mod(me, 2) == 0) then
     call shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, evens, even)
     if (shmemx_team_my_pe(even) /= me / 2 .or. shmemx_team_n_pes(even) /= evens) call shmem_global_exit(1)
     call shmemx_team_destroy(even)
  end if
  call shmem_barrier_all()
  if (me == 0) print '(a,i0,a,i0)', 'the team of even PEs has ', evens, ' of ', pes
  call shmem_finalize()
end program
