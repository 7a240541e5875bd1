! All PEs write the same element of an array of PE 0, whose first index begins at 0 and whose second one at 1.
program elements
  implicit none
  real(8), save :: grid(0:3, 5) = 0
  real(8) :: mine(1)
  integer, external :: shmem_my_pe

  call shmem_init()
  mine = shmem_my_pe()
  call shmem_double_put(grid(2, 3), mine, 1, 0)
  call shmem_finalize()
end program
