"""What an array has to be for a call: the flags of `enum need` in `native/array.h`."""

LOCAL_SOURCE, WRITABLE, SYMMETRIC, TOGETHER = 0, 1, 2, 4
