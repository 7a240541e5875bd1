! Mistakes of a first program in Fortran; without a name a reduction over a set of PEs that does not exist.
program newcomer
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_null_ptr
  implicit none
  include 'shmem.fh'
  integer, external :: shmem_n_pes
  integer, save :: source(4), dest(4), work(SHMEM_REDUCE_MIN_WRKDATA_SIZE), sync_words(SHMEM_REDUCE_SYNC_SIZE)
  real(8), allocatable, save :: block(:)
  real(8), pointer :: numbers(:)
  integer(8) :: address
  integer :: error
  character(len=16) :: mistake

  call get_command_argument(1, mistake)
  call shmem_init()
  select case (mistake)
  case ('allocatable')
    allocate(block(4))
    call shmem_put8(block, block, 4, 0)
  case ('long elements')
    call shmem_put64(dest, source, 4, 0)
  case ('private wait')
    allocate(block(4))
    block = 0
    call shmem_int8_wait_until(block, SHMEM_CMP_NE, 0_8)
  case ('null')
    call shmem_int4_min_to_all(dest, source, 1, 0, 0, shmem_n_pes(), work, %val(0_8))
  case ('short block')
    call shpalloc(address, 4, error, 1)
    call c_f_pointer(transfer(address, c_null_ptr), numbers, [4])
    numbers = 1
    call shpdeallc(address, error, 1)
  case ('colour')
    call shmemx_team_split(1_8, -7, 0, address) ! 1 is SHMEM_TEAM_WORLD
  case ('crash')
    call shmem_integer_put(dest, source, 4, %val(0_8))
  case default
    call shmem_int4_max_to_all(dest, source, 1, 0, 3, shmem_n_pes(), work, sync_words)
  end select
  call shmem_finalize()
end program
