! Heat spreads over a plate that a grid of PEs shares. Each PE has a block of the plate with a border of cells that belong to its
! neighbours, and puts its own edges into their borders. The rows and columns of the grid are teams.
program heat
  use shmem
  use shmemx
  implicit none

  integer, parameter :: cells = 64, steps = 400, stride = cells + 2
  ! In Fortran a column lies together and a row is scattered.
  real(8), save :: now(0:cells + 1, 0:cells + 1) = 0, largest, change
  real(8), save :: work(SHMEM_REDUCE_MIN_WRKDATA_SIZE)
  integer, save :: sync(SHMEM_REDUCE_SYNC_SIZE)
  real(8) :: next(cells, cells)
  integer(8) :: row, column
  integer :: me, pes, width, height, w, x, y, step

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  width = 1
  do w = 1, pes
     if (w * w <= pes .and. mod(pes, w) == 0) width = w
  end do
  call shmemx_team_split_strided(SHMEM_TEAM_WORLD, me / width * width, 1, width, row)
  call shmemx_team_split_strided(SHMEM_TEAM_WORLD, mod(me, width), width, pes / width, column)
  x = shmemx_team_my_pe(row)
  y = shmemx_team_my_pe(column)
  height = shmemx_team_n_pes(column)

  sync = SHMEM_SYNC_VALUE
  if (x == 0) now(:, 0) = 100 ! the west edge of the whole plate is hot
  call shmem_barrier_all()

  do step = 1, steps
     if (x > 0) call shmem_double_put(now(1, cells + 1), now(1, 1), cells, me - 1)
     if (x + 1 < width) call shmem_double_put(now(1, 0), now(1, cells), cells, me + 1)
     if (y > 0) call shmem_double_iput(now(cells + 1, 1), now(1, 1), stride, stride, cells, me - width)
     if (y + 1 < height) call shmem_double_iput(now(0, 1), now(cells, 1), stride, stride, cells, me + width)
     call shmem_barrier_all() ! all borders have come
     next = 0.25d0 * (now(0:cells - 1, 1:cells) + now(2:cells + 1, 1:cells) + now(1:cells, 0:cells - 1) &
          + now(1:cells, 2:cells + 1))
     change = maxval(abs(next - now(1:cells, 1:cells)))
     call shmem_barrier_all() ! all PEs have read their borders
     now(1:cells, 1:cells) = next
  end do

  call shmem_real8_max_to_all(largest, change, 1, 0, 0, pes, work, sync)
  if (me == 0) print '(i0,a,f8.6)', steps, ' steps, the last one changed a cell by at most ', largest
  call shmemx_team_destroy(column)
  call shmemx_team_destroy(row)
  call shmem_finalize()
end program
