! A grid of PEs: every row and every column is a team. Its members alone make it (Cray's extension). An active set finds the
! maximum of each row.
program split_2d
  use shmem
  use shmemx
  implicit none

  integer, save :: value, largest
  integer, save :: work(SHMEM_REDUCE_MIN_WRKDATA_SIZE)
  integer, save :: sync(SHMEM_REDUCE_SYNC_SIZE)
  integer(8) :: row, column
  integer :: me, pes, width, w, x, y

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  width = 1
  do w = 1, pes
     if (w * w <= pes .and. mod(pes, w) == 0) width = w
  end do
  x = mod(me, width)
  y = me / width
  sync = SHMEM_SYNC_VALUE
  value = 100 + me
  call shmem_barrier_all()

  call shmemx_team_split_strided(SHMEM_TEAM_WORLD, y * width, 1, width, row)
  call shmemx_team_split_strided(SHMEM_TEAM_WORLD, x, width, pes / width, column)
  if (shmemx_team_my_pe(row) /= x .or. shmemx_team_my_pe(column) /= y) call shmem_global_exit(1)

  ! The active set of this row begins with PE y * width and has stride 2**0.
  call shmem_int4_max_to_all(largest, value, 1, y * width, 0, width, work, sync)
  if (largest /= 100 + (y + 1) * width - 1) call shmem_global_exit(2)

  call shmemx_team_destroy(column)
  call shmemx_team_destroy(row)
  if (me == 0) print '(a,i0,a)', 'rows of ', width, ' PEs, every maximum is right'
  call shmem_finalize()
end program
