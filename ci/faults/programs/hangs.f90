! Says something and hangs.
program hangs
  implicit none
  include 'shmem.fh'
  integer :: shmem_my_pe
  call shmem_init()
  if (shmem_my_pe() == 0) print '(a)', 'before the hang'
  do
    call sleep(10)
  end do
end program
