! Known calls of Fortran.
program recorded
  implicit none
  include 'shmem.fh'
  include 'shmem_functions.fh'
  integer :: me, next, i
  integer(8), save :: target(4)
  integer(8) :: source(4)
  call shmem_init()
  me = shmem_my_pe()
  next = mod(me + 1, shmem_n_pes())
  source = me
  do i = 1, 6
    call shmem_put8(target, source, 4, next)
  end do
  call shmem_barrier_all()
  call shmem_get8(source, target, 3, next)
  call shmem_finalize()
end program
