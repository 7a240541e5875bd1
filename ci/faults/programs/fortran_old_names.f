C     The names of the nineties, START_PES, no IMPLICIT NONE.
      PROGRAM OLDNAM
      INCLUDE 'shmem.fh'
      INTEGER NUM_PES, MY_PE
      INTEGER HERE
      COMMON /CELL/ HERE
      HERE = -1
      CALL START_PES(0)
      ME = MY_PE()
      NPES = NUM_PES()
      CALL SHMEM_BARRIER_ALL()
      CALL SHMEM_INTEGER_PUT(HERE, ME, 1, MOD(ME + 1, NPES))
      CALL SHMEM_BARRIER_ALL()
      IF (HERE .NE. MOD(ME + NPES - 1, NPES)) STOP 1
      IF (ME .EQ. 0) PRINT '(A)', 'ok'
      END
