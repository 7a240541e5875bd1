! Mistakes whose message names the line; the first argument says which. Each stands in a line with its name behind it.
program named_lines
  use shmem_f08
  implicit none
  character(len=16) :: mistake
  integer(8), save :: numbers(8) = 0
  integer(8), allocatable, save :: own(:)
  integer(8) :: lock = 0
  real(8), pointer :: block(:)
  real(8), save :: rows(3, 4) = 0
  integer :: here(4) = 0
  character(len=4), save :: names(2) = ' '
  character(len=8), save :: words(2) = ' '

  call get_command_argument(1, mistake)
  call shmem_init()
  if (mistake == 'no PE') call shmem_p(numbers(1), 1_8, 7) ! no PE
  allocate (own(8))
  if (mistake == 'allocatable') call shmem_put(own, numbers, pe=1) ! allocatable
  if (mistake == 'unlocked') call shmem_clear_lock(lock) ! unlocked
  if (mistake == 'past') call shmem_put(numbers, numbers, 100000, 1) ! past
  if (mistake == 'sizes') call shmem_malloc(block, [10 + shmem_my_pe()]) ! sizes
  if (mistake == 'apart') call shmem_put(rows(1, :), [1d0, 2d0, 3d0, 4d0], pe=1) ! apart
  if (mistake == 'apart source') call shmem_put(rows, rows(1, :), 4, 1) ! apart source
  if (mistake == 'short') call shmem_put(rows(:, 1), rows(:, 2:3), pe=1) ! short
  if (mistake == 'strings') call shmem_put(names, words, pe=1) ! strings
  if (mistake == 'parts') call shmem_alltoall(SHMEM_TEAM_WORLD, rows(:, 1), rows(:, 2)) ! parts
  if (mistake == 'number') call without_number(numbers)
  if (mistake == 'exchange') call exchange_without_number(numbers)
  if (mistake == 'root') call inner() ! outer
  call shmem_finalize()
contains
  subroutine inner()
    call shmem_broadcast(SHMEM_TEAM_WORLD, numbers, numbers, PE_root=9) ! root
  end subroutine
  subroutine without_number(array)
    integer(8), intent(inout) :: array(*)
    call shmem_put(array, array, pe=1) ! number
  end subroutine
  subroutine exchange_without_number(array)
    integer(8), intent(inout) :: array(*)
    call shmem_alltoall(SHMEM_TEAM_WORLD, array, array) ! exchange
  end subroutine
end program
