! Heat on a plate that a grid of PEs shares, as in heat.f90, with the module shmem_f08: rows and columns of the grid are teams of the
! standard, neighbours are named by their numbers in these teams, and the largest change is a reduction on the world.
program heat_f08
  use shmem_f08
  implicit none

  integer, parameter :: cells = 64, steps = 400, stride = cells + 2
  ! In Fortran a column lies together and a row is scattered.
  real(8), pointer :: now(:, :)
  real(8), save :: largest, change
  real(8) :: next(cells, cells)
  type(shmem_team) :: row, column, world = SHMEM_TEAM_WORLD
  integer :: me, pes, width, w, step, west, east, north, south

  call shmem_init()
  me = world%my_pe()
  pes = world%n_pes()
  width = maxval([(merge(w, 1, w * w <= pes .and. mod(pes, w) == 0), w = 1, pes)])
  call world%split_2d(width, xaxis_team=row, yaxis_team=column)
  west = row%translate_pe(row%my_pe() - 1, world)
  east = row%translate_pe(row%my_pe() + 1, world)
  north = column%translate_pe(column%my_pe() - 1, world)
  south = column%translate_pe(column%my_pe() + 1, world)

  call shmem_calloc(now, [cells + 2, cells + 2])
  now(0:, 0:) => now ! the border has the indices 0 and cells + 1
  if (west < 0) now(:, 0) = 100 ! the west edge of the whole plate is hot
  call shmem_barrier_all()

  do step = 1, steps
     if (west >= 0) call shmem_put(now(1:cells, cells + 1), now(1:cells, 1), pe=west)
     if (east >= 0) call shmem_put(now(1:cells, 0), now(1:cells, cells), pe=east)
     if (north >= 0) call shmem_iput(now(cells + 1, 1), now(1, 1), stride, stride, cells, north)
     if (south >= 0) call shmem_iput(now(0, 1), now(cells, 1), stride, stride, cells, south)
     call shmem_barrier_all() ! all borders have come
     next = 0.25d0 * (now(0:cells - 1, 1:cells) + now(2:cells + 1, 1:cells) + now(1:cells, 0:cells - 1) &
          + now(1:cells, 2:cells + 1))
     change = maxval(abs(next - now(1:cells, 1:cells)))
     call shmem_barrier_all() ! all PEs have read their borders
     now(1:cells, 1:cells) = next
  end do

  call world%max_reduce(largest, change)
  if (me == 0) print '(i0,a,f8.6)', steps, ' steps, the last one changed a cell by at most ', largest
  call column%destroy()
  call row%destroy()
  call shmem_free(now)
  call shmem_finalize()
end program
