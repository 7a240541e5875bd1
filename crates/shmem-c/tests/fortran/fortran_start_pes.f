! The oldest way to start: START_PES, no finalize, data in COMMON.
! pes: 1 2 3 4 8
! build: -Wno-extra
      PROGRAM OLDWAY
      INCLUDE 'shmem.fh'
      INTEGER ME, NPES, I
      INTEGER SOURCE, TARGET
      COMMON /SHARED/ SOURCE(10), TARGET(10)
      CALL START_PES(0)
      CALL START_PES(4)
      ME = MY_PE()
      NPES = NUM_PES()
      DO 10 I = 1, 10
        SOURCE(I) = 100 * ME + I
        TARGET(I) = -1
   10 CONTINUE
      CALL SHMEM_BARRIER_ALL()
      CALL SHMEM_INTEGER_PUT(TARGET, SOURCE, 10, MOD(ME + 1, NPES))
      CALL SHMEM_BARRIER_ALL()
      DO 20 I = 1, 10
        IF (TARGET(I) .NE. 100 * MOD(ME + NPES - 1, NPES) + I) THEN
          PRINT *, 'FAIL PE ', ME, ': element ', I, ' is ', TARGET(I)
          CALL SHMEM_GLOBAL_EXIT(1)
        END IF
   20 CONTINUE
      CALL SHMEM_BARRIER_ALL()
      IF (ME .EQ. 0) PRINT '(A)', 'ok'
      END
