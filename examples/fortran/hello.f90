! Every PE says who it is.   oshfort hello.f90 -o hello && oshrun -n 4 ./hello
program hello
  use shmem
  implicit none

  call shmem_init()
  print '(a,i0,a,i0)', 'Hello from PE ', shmem_my_pe(), ' of ', shmem_n_pes()
  call shmem_finalize()
end program
