      program main
      implicit none
      include 'FOLDER/shmem.fh'
      include 'FOLDER/shmem_functions.fh'
      include 'FOLDER/shmemx.fh'
      include 'FOLDER/shmemx_functions.fh'
      integer psync(SHMEM_REDUCE_SYNC_SIZE)
      integer(8) there
      save psync
      data psync /SHMEM_REDUCE_SYNC_SIZE*SHMEM_SYNC_VALUE/
      call shmem_init()
      if (SHMEM_CMP_EQ .eq. SHMEM_CMP_NE) stop 1
      if (len(SHMEM_VENDOR_STRING) .ge. SHMEM_MAX_NAME_LEN) stop 2
      if (shmem_my_pe() .ne. my_pe()) stop 3
      if (shmem_n_pes() .ne. num_pes()) stop 4
      if (.not. shmem_pe_accessible(0)) stop 5
      if (shmem_pe_accessible(shmem_n_pes())) stop 6
      there = shmem_ptr(psync, 0)
      if (there .eq. 0) stop 7
      if (shmemx_wtime() .le. 0.0) stop 8
      if (shmemx_team_n_pes(SHMEM_TEAM_WORLD) .ne. 1) stop 9
      call shmem_finalize()
      end
