// A function made from a template passes a PE that the job lacks. The string makes the program need the C++ runtime, as most programs do.
#include <shmem.h>

#include <string>

namespace heat {
template <typename T>
__attribute__((noinline)) void send(T *target, T value, int pe)
{
    shmem_p(target, value, pe);
}
} // namespace heat

static double target;

int main(int count, char **arguments)
{
    shmem_init();
    const std::string name(arguments[count - 1]);
    heat::send<double>(&target, double(name.size()), shmem_n_pes() + 5);
    shmem_finalize();
    return 0;
}
