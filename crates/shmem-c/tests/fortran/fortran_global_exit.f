! One PE ends all of them with status 0, passed by reference.
! pes: 1 2 3 4 8
! build: -Wno-extra
      PROGRAM ENDALL
      INCLUDE 'shmem.fh'
      INTEGER SHMEM_MY_PE, SHMEM_N_PES
      CALL SHMEM_INIT()
      IF (SHMEM_MY_PE() .EQ. SHMEM_N_PES() - 1) THEN
        PRINT '(A)', 'ok'
        CALL SHMEM_GLOBAL_EXIT(0)
      END IF
      CALL SHMEM_BARRIER_ALL()
      PRINT '(A)', 'FAIL the barrier was passed'
      END
