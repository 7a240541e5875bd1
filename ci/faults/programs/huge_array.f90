! Arrays of 2 and 4 Gi elements, more than a default INTEGER counts. Nothing touches their pages but the first.
program huge_array
    use shmem_f08
    use, intrinsic :: iso_c_binding
    implicit none
    integer(1), pointer :: array(:, :)
    integer :: round, rows
    type(c_ptr) :: first
    call shmem_init()
    do round = 1, 3
        rows = merge(32768, 65536, round == 1)
        call shmem_malloc(array, [rows, 65536])
        if (.not. associated(array)) error stop 'no memory'
        if (round == 2) first = c_loc(array(1, 1))
        if (round == 3) then
            if (.not. c_associated(first, c_loc(array(1, 1)))) error stop 'the block before has not been freed'
        end if
        array(1, 1) = 7
        if (round == 1) then
            call shmem_realloc(array, [rows, 65537])
            if (array(1, 1) /= 7) error stop 'the element is lost'
        end if
        call shmem_free(array)
    end do
    call shmem_finalize()
    print '(a)', 'ok'
end program
