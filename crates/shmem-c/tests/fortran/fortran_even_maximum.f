! The maximum over the even PEs of double precision values in
! COMMON, as a program of the nineties asks for it: fixed form, a
! logarithm of 2 as stride, DATA for pSync.
! pes: 1 2 3 4 8
! build: -Wno-extra
      PROGRAM EVNMAX
      INCLUDE 'shmem.fh'
      INTEGER SHMEM_MY_PE, SHMEM_N_PES
      INTEGER NR, NWRK
      PARAMETER (NR = 25)
      PARAMETER (NWRK = 13 + SHMEM_REDUCE_MIN_WRKDATA_SIZE)
      REAL*8 FOO, FOOMAX, PWRK
      COMMON /REALS/ FOO(NR), FOOMAX(NR), PWRK(NWRK)
      INTEGER PSYNC(SHMEM_REDUCE_SYNC_SIZE)
      SAVE PSYNC
      DATA PSYNC /SHMEM_REDUCE_SYNC_SIZE*SHMEM_SYNC_VALUE/
      INTEGER ME, NPES, I, LAST, BAD
      CALL SHMEM_INIT()
      ME = SHMEM_MY_PE()
      NPES = SHMEM_N_PES()
      BAD = 0
      DO 10 I = 1, NR
        FOO(I) = -1.0D3 - I + 1.0D-9 * ME
        FOOMAX(I) = 5.0D0
   10 CONTINUE
      CALL SHMEM_BARRIER_ALL()
      IF (MOD(ME, 2) .EQ. 0) THEN
        CALL SHMEM_REAL8_MAX_TO_ALL(FOOMAX, FOO, NR, 0, 1,
     &                              (NPES + 1) / 2, PWRK, PSYNC)
      END IF
      LAST = (NPES - 1) / 2 * 2
      DO 20 I = 1, NR
        IF (MOD(ME, 2) .EQ. 0) THEN
          IF (FOOMAX(I) .NE. -1.0D3 - I + 1.0D-9 * LAST) BAD = BAD + 1
        ELSE
          IF (FOOMAX(I) .NE. 5.0D0) BAD = BAD + 1
        END IF
   20 CONTINUE
      DO 30 I = 1, SHMEM_REDUCE_SYNC_SIZE
        IF (PSYNC(I) .NE. SHMEM_SYNC_VALUE) BAD = BAD + 1
   30 CONTINUE
      CALL SHMEM_BARRIER_ALL()
      CALL SHMEM_FINALIZE()
      IF (BAD .NE. 0) THEN
        PRINT *, 'FAIL PE ', ME, ': wrong elements: ', BAD
        STOP 1
      END IF
      IF (ME .EQ. 0) PRINT '(A)', 'ok'
      END
