! A message travels around the ring of PEs: each PE waits for it, adds its number and hands it on. The fence makes the data arrive
! before the notice.
program ring
  use shmem
  implicit none

  integer, parameter :: rounds = 100
  integer(8), save :: message = 0, sum
  integer(8), save :: arrived = 0 ! the number of the round whose message has come
  integer(8), save :: notice
  integer :: me, pes, next, round

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  next = mod(me + 1, pes)

  do round = 1, rounds
     sum = 0
     if (me /= 0) then
        call shmem_int8_wait_until(arrived, SHMEM_CMP_GE, int(round, 8))
        sum = message
     end if
     sum = sum + me
     notice = round
     call shmem_put64(message, sum, 1, next)
     call shmem_fence()
     call shmem_put64(arrived, notice, 1, next)
     if (me == 0) call shmem_int8_wait_until(arrived, SHMEM_CMP_GE, int(round, 8))
  end do
  if (me == 0) print '(i0,a,i0)', rounds, ' rounds, the sum of all PE numbers is ', message
  call shmem_finalize()
end program
