! Hybrid programs in Fortran: `openmp CASE wrong`, `openmp CASE right`, `openmp list`; the case `all` is each of them. A case CASE races
! on its variable CASE_data, at lines that say so.
module cases
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  integer(c_int64_t), bind(c, name='master_gets_data') :: master_gets_data(16)
  integer(c_int64_t), bind(c, name='loop_puts_data') :: loop_puts_data(16)
  integer(c_int64_t), bind(c, name='tasks_data') :: tasks_data(16)
  integer(c_int64_t), bind(c, name='critical_data') :: critical_data(16)
  integer(c_int64_t), bind(c, name='locks_data') :: locks_data(16)
  integer(c_int64_t), bind(c, name='far_data') :: far(16)
  integer :: me, next
  logical :: right
  interface
    integer(c_int) function init_thread(level, provided) bind(c, name='shmem_init_thread')
      import :: c_int
      integer(c_int), value :: level
      integer(c_int) :: provided
    end function
  end interface
contains
  subroutine master_gets()
    !$omp parallel num_threads(2)
    !$omp master
    call shmem_getmem(master_gets_data, far, 128, next) ! race
    !$omp end master
    if (right) then
      !$omp barrier
    end if
    if (omp_get_thread_num() == 1) master_gets_data(3) = 1 ! race
    !$omp end parallel
  end subroutine

  subroutine loop_puts()
    integer :: i
    !$omp parallel do num_threads(2)
    do i = 1, 16
      call shmem_put8(loop_puts_data(i), far(i), 1, next) ! race
    end do
    if (right) call shmem_barrier_all()
    far(1) = loop_puts_data(4) ! race
  end subroutine

  subroutine tasks()
    !$omp parallel num_threads(2)
    !$omp single
    !$omp task
    call shmem_getmem(tasks_data, far, 128, next) ! race
    !$omp end task
    if (right) then
      !$omp taskwait
    end if
    !$omp task
    tasks_data(2) = 5 ! race
    !$omp end task
    !$omp end single
    !$omp end parallel
  end subroutine

  subroutine critical()
    !$omp parallel num_threads(2)
    if (right) then
      !$omp critical
      critical_data(1) = critical_data(1) + 1
      !$omp end critical
    else
      critical_data(1) = critical_data(1) + 1 ! race
    end if
    !$omp end parallel
  end subroutine

  subroutine locks()
    integer(omp_lock_kind) :: of(2)
    integer :: mine
    call omp_init_lock(of(1))
    call omp_init_lock(of(2))
    !$omp parallel num_threads(2) private(mine)
    mine = merge(1, 1 + omp_get_thread_num(), right)
    call omp_set_lock(of(mine))
    locks_data(1) = locks_data(1) + 1 ! race
    call omp_unset_lock(of(mine))
    !$omp end parallel
  end subroutine
end module

program openmp
  use cases
  implicit none
  integer, external :: shmem_my_pe, shmem_n_pes
  character(len=20), parameter :: names(5) = [character(len=20) :: 'master_gets', 'loop_puts', 'tasks', 'critical', 'locks']
  character(len=20) :: chosen, way
  integer(c_int) :: i, provided
  call get_command_argument(1, chosen)
  call get_command_argument(2, way)
  right = way == 'right'
  if (chosen == 'list') then
    do i = 1, size(names)
      print '(a)', trim(names(i))
    end do
    stop
  end if
  i = init_thread(3, provided) ! SHMEM_THREAD_MULTIPLE
  me = shmem_my_pe()
  next = mod(me + 1, shmem_n_pes())
  do i = 1, size(names)
    if (chosen /= 'all' .and. chosen /= names(i)) cycle
    select case (i)
    case (1); call master_gets()
    case (2); call loop_puts()
    case (3); call tasks()
    case (4); call critical()
    case (5); call locks()
    end select
    call shmem_barrier_all()
  end do
  call shmem_finalize()
end program
