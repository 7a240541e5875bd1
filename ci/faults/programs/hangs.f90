! Says something and hangs, or ends the job if that is the argument.
program hangs
  implicit none
  include 'shmem.fh'
  integer :: shmem_my_pe
  character(len=8) :: wish

  call get_command_argument(1, wish)
  call shmem_init()
  if (shmem_my_pe() == 0) print '(a)', 'before the hang'
  ! The first PE to end the job ends it for all, so PE 0 must have spoken.
  if (wish == 'end') then
    call shmem_barrier_all()
    call shmem_global_exit(3)
  end if
  do
    call sleep(10)
  end do
end program
