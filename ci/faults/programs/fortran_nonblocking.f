C     Cray's older names of nonblocking transfers, with the handle that
C     has no use and without it.
      PROGRAM NONBLK
      IMPLICIT NONE
      INCLUDE 'mpp/shmem.fh'
      INTEGER SHMEM_MY_PE, SHMEM_N_PES
      INTEGER ME, NPES, RIGHT, LEFT, WORD, BACK
      INTEGER*8 WIDE(2), MINE(2), HANDLE
      COMMON /CELLS/ WIDE, WORD
      CALL SHMEM_INIT()
      ME = SHMEM_MY_PE()
      NPES = SHMEM_N_PES()
      RIGHT = MOD(ME + 1, NPES)
      LEFT = MOD(ME + NPES - 1, NPES)
      MINE(1) = 5000000000_8 + ME
      MINE(2) = -1 - ME
      HANDLE = 77
      WORD = -1
      BACK = -1
      CALL SHMEM_BARRIER_ALL()
      CALL SHMEM_PUT64_NB(WIDE, MINE, 2, RIGHT, HANDLE)
      CALL SHMEM_INTEGER_PUT_NB(WORD, ME, 1, RIGHT)
      CALL SHMEM_BARRIER_ALL()
      IF (WIDE(1) .NE. 5000000000_8 + LEFT) STOP 1
      IF (WIDE(2) .NE. -1 - LEFT .OR. WORD .NE. LEFT) STOP 2
      CALL SHMEM_GET32_NB(BACK, WORD, 1, RIGHT, HANDLE)
      CALL SHMEM_QUIET()
      IF (BACK .NE. ME .OR. HANDLE .NE. 77) STOP 3
      IF (ME .EQ. 0) PRINT '(A)', 'ok'
      CALL SHMEM_FINALIZE()
      END
