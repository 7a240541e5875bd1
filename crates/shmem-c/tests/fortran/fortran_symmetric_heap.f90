! Blocks of the symmetric heap behind Cray pointers.
! pes: 1 2 3 4 8
! build: -Wno-extra -fcray-pointer
program symmetric_heap
    implicit none
    include 'shmem.fh'
    include 'check_vars.inc'
    integer(8) :: address, inside, kept
    integer :: block(100), error, status, i
    pointer (address, block)

    call start()
    call shpalloc(address, 100, error, 0)
    call check(error == 0, 'shpalloc of 100 words')
    block = me
    call shmem_barrier_all()
    call shmem_integer_put(block(11), me, 1, next)
    call shmem_barrier_all()
    call check(block(11) == previous .and. block(10) == me .and. block(12) == me, 'a put into the block')
    call check(shmem_addr_accessible(block, next), 'the block is symmetric')

    do i = 1, 100
        block(i) = 1000 * me + i
    end do
    call shpclmove(address, 50, status, 0)
    call check(status == 0 .or. status == 1, 'shpclmove to fewer words')
    call check(all(block(1:50) == [(1000 * me + i, i=1, 50)]), 'shpclmove keeps the contents')
    call shpclmove(address, 100000, status, 0)
    call check(status == 0 .or. status == 1, 'shpclmove to more words')
    call check(all(block(1:50) == [(1000 * me + i, i=1, 50)]), 'shpclmove keeps the contents when it moves')

    call shpalloc(kept, 0, error, 0)
    call check(error == -1, 'length 0 is error -1')
    call shpalloc(kept, -5, error, 0)
    call check(error == -1, 'a negative length is error -1')
    inside = address + 16
    call shpdeallc(inside, error, 0)
    call check(error == -5, 'an address inside a block is error -5')
    inside = loc(failures)
    call shpdeallc(inside, error, 0)
    call check(error == -3, 'an address outside the heap is error -3')
    call shpdeallc(address, error, 0)
    call check(error == 0, 'shpdeallc')
    call finish()

end program symmetric_heap

include 'check.inc'
