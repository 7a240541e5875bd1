/* Two threads that use the same memory, the second one after the first one has told it: included once for each way, HOW, to tell.
   In the wrong case the first thread tells too early. NAME(x) is the name of the way's x; TELL and HEAR are the way. */

static long NAME(get_data)[8], NAME(source_data)[8], NAME(store_data)[8], NAME(atomic_data)[8], NAME(put_data)[8];

static void NAME(get_first)(void)
{
    if (!right)
        TELL;
    shmem_long_get_nbi(NAME(get_data), far, 8, next); /* race */
    shmem_quiet();
    if (right)
        TELL;
}
static void NAME(get_second)(void)
{
    HEAR;
    sink = NAME(get_data)[3]; /* race */
}

static void NAME(source_first)(void)
{
    if (!right)
        TELL;
    shmem_long_put_nbi(landing, NAME(source_data), 8, next); /* race */
    shmem_quiet();
    if (right)
        TELL;
}
static void NAME(source_second)(void)
{
    HEAR;
    NAME(source_data)[2] = 5; /* race */
}

static void NAME(store_first)(void)
{
    if (!right)
        TELL;
    NAME(store_data)[1] = 7; /* race */
    if (right)
        TELL;
}
static void NAME(store_second)(void)
{
    HEAR;
    shmem_long_put(landing + 8, NAME(store_data), 8, next); /* race */
}

static void NAME(atomic_first)(void)
{
    if (!right)
        TELL;
    shmem_long_atomic_fetch_add(NAME(atomic_data), 1, me); /* race */
    if (right)
        TELL;
}
static void NAME(atomic_second)(void)
{
    HEAR;
    NAME(atomic_data)[0] = 0; /* race */
}

/* The put is over only if its own thread, or one that has heard of it, calls the quiet. */
static void NAME(put_first)(void)
{
    if (!right)
        TELL;
    shmem_long_put(NAME(put_data), far, 8, next); /* race */
    if (right)
        TELL;
}
static void NAME(put_second)(void)
{
    HEAR;
    shmem_quiet();
    sink = shmem_long_g(NAME(put_data), next); /* race */
}

#undef NAME
#undef TELL
#undef HEAR
