! Heat spreads along a rod that all PEs share. Each PE has a piece with one cell of border on either side; it puts its own ends into
! its neighbours' borders.
program rod
  use shmem
  implicit none

  integer, parameter :: cells = 100, steps = 500
  ! Variables with SAVE are symmetric: every PE has one, and the others can reach it.
  real(8), save :: now(0:cells + 1) = 0, largest, change
  real(8), save :: work(SHMEM_REDUCE_MIN_WRKDATA_SIZE)
  integer, save :: sync(SHMEM_REDUCE_SYNC_SIZE)
  real(8) :: next(cells)
  integer :: me, pes, step

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  sync = SHMEM_SYNC_VALUE
  if (me == 0) now(0) = 100 ! one end of the rod is hot
  call shmem_barrier_all()

  do step = 1, steps
     if (me > 0) call shmem_double_put(now(cells + 1), now(1), 1, me - 1)
     if (me < pes - 1) call shmem_double_put(now(0), now(cells), 1, me + 1)
     call shmem_barrier_all() ! all borders have come
     next = 0.5d0 * (now(0:cells - 1) + now(2:cells + 1))
     change = maxval(abs(next - now(1:cells)))
     call shmem_barrier_all() ! all PEs have read their borders
     now(1:cells) = next
  end do

  call shmem_real8_max_to_all(largest, change, 1, 0, 0, pes, work, sync)
  if (me == 0) print '(i0,a,f8.6)', steps, ' steps, the last one changed a cell by at most ', largest
  call shmem_finalize()
end program
