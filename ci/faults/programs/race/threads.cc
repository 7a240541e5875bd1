// Threads of C++ that hand memory over.
#include "cases.h"
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <barrier>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#define DATA(name) static long name##_data[8]
static long far[8], landing[8];
#define next ((me + 1) % npes)

// Runs both at the same time.
static void both(const std::function<void()> &first, const std::function<void()> &second)
{
    std::thread thread(first);
    second();
    thread.join();
    shmem_barrier_all();
}

// In the right case the access comes before the word of it.
static void in_order(const std::function<void()> &access, const std::function<void()> &tell)
{
    if (right)
        access();
    tell();
    if (!right)
        access();
}

DATA(mutex);
static void mutex()
{
    std::mutex lock;
    bool told = false;
    both(
        [&] {
            in_order([] { shmem_long_get(mutex_data, far, 8, next); /* race */
                     },
                     [&] {
                         std::lock_guard held(lock);
                         told = true;
                     });
        },
        [&] {
            for (bool heard = false; !heard;) {
                std::unique_lock held(lock, std::try_to_lock);
                heard = held && told;
            }
            sink = mutex_data[2]; /* race */
        });
}

DATA(condition);
static void condition()
{
    std::mutex lock;
    std::condition_variable changed;
    bool told = false;
    both(
        [&] {
            in_order([] { shmem_long_put(landing, condition_data, 8, next); /* race */
                     },
                     [&] {
                         std::lock_guard held(lock);
                         told = true;
                         changed.notify_one();
                     });
        },
        [&] {
            std::unique_lock held(lock);
            changed.wait(held, [&] { return told; });
            condition_data[2] = 3; /* race */
        });
}

DATA(shared_mutex);
static void shared_mutex()
{
    std::shared_mutex lock;
    bool told = false;
    both(
        [&] {
            in_order([] { shared_mutex_data[1] = 1; /* race */
                     },
                     [&] {
                         std::unique_lock held(lock);
                         told = true;
                     });
        },
        [&] {
            for (bool heard = false; !heard;) {
                std::shared_lock held(lock);
                heard = told;
            }
            shmem_long_put(landing, shared_mutex_data, 8, next); /* race */
        });
}

DATA(atomic_flag);
static void atomic_flag()
{
    std::atomic<bool> told{false};
    both(
        [&] {
            in_order([] { shmem_long_get(atomic_flag_data, far, 8, next); /* race */
                     },
                     [&] { told.store(true, std::memory_order_release); });
        },
        [&] {
            while (!told.load(std::memory_order_acquire))
                ;
            sink = atomic_flag_data[2]; /* race */
        });
}

DATA(future);
static void future()
{
    std::promise<int> promise;
    both(
        [&] {
            in_order([] { shmem_long_get(future_data, far, 8, next); /* race */
                     },
                     [&] { promise.set_value(1); });
        },
        [&] {
            promise.get_future().get();
            sink = future_data[2]; /* race */
        });
}

DATA(asynchronous);
static void asynchronous()
{
    auto done = std::async(std::launch::async, [] { asynchronous_data[0] = 4; /* race */
    });
    if (right)
        done.get();
    shmem_long_put(landing, asynchronous_data, 8, next); /* race */
    if (!right)
        done.get();
    shmem_barrier_all();
}

DATA(latch);
static void latch()
{
    std::latch told(1);
    both(
        [&] {
            in_order([] { shmem_long_get(latch_data, far, 8, next); /* race */
                     },
                     [&] { told.count_down(); });
        },
        [&] {
            told.wait();
            sink = latch_data[2]; /* race */
        });
}

DATA(semaphore);
static void semaphore()
{
    std::binary_semaphore told(0);
    both(
        [&] {
            in_order([] { shmem_long_get(semaphore_data, far, 8, next); /* race */
                     },
                     [&] { told.release(); });
        },
        [&] {
            told.acquire();
            semaphore_data[2] = 4; /* race */
        });
}

DATA(joined);
static void joined()
{
    std::thread thread([] { shmem_long_get(joined_data, far, 8, next); /* race */
    });
    if (right)
        thread.join();
    sink = joined_data[2]; /* race */
    if (!right)
        thread.join();
    shmem_barrier_all();
}

DATA(started);
static void started()
{
    if (right)
        started_data[0] = 1;
    std::thread thread([] { shmem_long_put(landing, started_data, 8, next); /* race */
    });
    if (!right)
        started_data[0] = 1; /* race */
    thread.join();
    shmem_barrier_all();
}

DATA(once);
static void once()
{
    static std::once_flag flags[2];
    auto fill = [] { shmem_long_get(once_data, far, 8, next); /* race */
    };
    auto use = [&] {
        if (right)
            std::call_once(flags[0], fill);
        else
            fill();
        sink = once_data[1]; /* race */
    };
    both(use, use);
}

struct Filled {
    Filled() { static_data(); }
    static void static_data();
};
DATA(made_once);
void Filled::static_data() { shmem_long_get(made_once_data, far, 8, next); /* race */ }
static void made_once()
{
    auto use = [] {
        if (right) {
            static Filled once;
            (void)once;
        } else
            Filled();
        sink = made_once_data[1]; /* race */
    };
    both(use, use);
}

DATA(shared_pointer);
static void shared_pointer()
{
    // The last owner of the block writes: the count of owners orders it after the others.
    auto owner = std::shared_ptr<int>(new int(0), [](int *block) {
        delete block;
        if (right)
            shared_pointer_data[0] = 1;
    });
    auto use = [](std::shared_ptr<int> mine) {
        sink = shared_pointer_data[0]; /* race */
        if (!right)
            shared_pointer_data[0] = 1; /* race */
        mine.reset();
    };
    std::thread thread(use, owner);
    use(std::move(owner));
    thread.join();
    shmem_barrier_all();
}

DATA(own_buffers);
static void own_buffers()
{
    auto use = [](int number) {
        long *mine = own_buffers_data + (right ? number * 4 : 0);
        shmem_long_get_nbi(mine, far, 4, next); /* race */
        shmem_quiet();
        sink = mine[3]; /* race */
    };
    both([&] { use(0); }, [&] { use(1); });
}

static const struct race_case cases[] = {
    CASE(mutex), CASE(condition), CASE(shared_mutex), CASE(atomic_flag), CASE(future), CASE(asynchronous), CASE(latch),
    CASE(semaphore), CASE(joined), CASE(started), CASE(once), CASE(made_once), CASE(shared_pointer), CASE(own_buffers),
};
MAIN(cases)
