! A block that SHPCLMOVE makes longer. All PEs meet in the call, so what one did with the block before it comes first.
program moved_block
  implicit none
  include 'shmem.fh'
  integer :: block(8), error, me
  integer, external :: shmem_my_pe
  integer(8) :: address
  pointer (address, block)

  call shmem_init()
  me = shmem_my_pe()
  call shpalloc(address, 4, error, 1)
  if (me == 0) call shmem_integer_put(block, [1, 2, 3, 4], 4, 1)
  call shpclmove(address, 8, error, 1)
  if (me == 1) then
    if (block(4) /= 4) error stop 'the put has not come'
    block(1) = 5
  end if
  call shpdeallc(address, error, 1)
  call shmem_finalize()
end program moved_block
