! The largest element at each place of an array, over all PEs.
program max
  use shmem
  implicit none

  integer, parameter :: n = 1000
  integer, save :: source(n), target(n)
  integer, save :: work(n / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE)
  integer, save :: sync(SHMEM_REDUCE_SYNC_SIZE)
  integer :: me, pes, i, pe, wrong

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()

  sync = SHMEM_SYNC_VALUE
  source = [(mod(i * 31 + me * 17, 1009), i = 1, n)]
  call shmem_barrier_all()

  call shmem_int4_max_to_all(target, source, n, 0, 0, pes, work, sync)

  wrong = 0
  do i = 1, n
     if (target(i) /= maxval([(mod(i * 31 + pe * 17, 1009), pe = 0, pes - 1)])) wrong = wrong + 1
  end do
  if (wrong > 0) call shmem_global_exit(1)
  if (me == 0) print '(i0,a,i0,a)', n, ' maxima over ', pes, ' PEs are right'
  call shmem_finalize()
end program
