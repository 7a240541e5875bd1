C     One PE ends all of them with its status, passed by reference.
C     pes: 1 2 3 4 8
C     exit: 7
      PROGRAM ENDALL
      INCLUDE 'shmem.fh'
      CALL SHMEM_INIT()
      IF (SHMEM_MY_PE() .EQ. SHMEM_N_PES() - 1) THEN
        PRINT '(A)', 'ok'
        CALL SHMEM_GLOBAL_EXIT(7)
      END IF
      CALL SHMEM_BARRIER_ALL()
      PRINT '(A)', 'FAIL the barrier was passed'
      END
