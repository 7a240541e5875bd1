! A reduction over a set of PEs that does not exist.
program newcomer
  implicit none
  include 'shmem.fh'
  integer, external :: shmem_n_pes
  integer, save :: source(4), dest(4), work(SHMEM_REDUCE_MIN_WRKDATA_SIZE), sync_words(SHMEM_REDUCE_SYNC_SIZE)
  call shmem_init()
  call shmem_int4_max_to_all(dest, source, 1, 0, 3, shmem_n_pes(), work, sync_words)
  call shmem_finalize()
end program
