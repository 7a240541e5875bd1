// A function made from a template passes a PE that the job lacks.
#include <shmem.h>

namespace heat {
template <typename T>
__attribute__((noinline)) void send(T *target, T value, int pe)
{
    shmem_p(target, value, pe);
}
} // namespace heat

static double target;

int main()
{
    shmem_init();
    heat::send<double>(&target, 1.0, shmem_n_pes() + 5);
    shmem_finalize();
    return 0;
}
