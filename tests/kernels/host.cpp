// Kernels of the tests as functions of the host.

#include <vector>

#include "kernel_bodies.cuh"

extern "C" {

int test_functions(shmemx_device_t shmem, Area *area, Area *here, int to)
{
    int wrong = functions(shmem, area, here, to);
    return wrong ? wrong : groups(shmem, area, here, to);
}

// With memory of the thread's own, which the host does not know.
int test_functions_apart(shmemx_device_t shmem, Area *area, int to)
{
    std::vector<Area> here(1);
    return test_functions(shmem, area, here.data(), to);
}

int test_add_often(shmemx_device_t shmem, u64 *word, int times, int to)
{
    return add_often(shmem, word, times, to);
}

int test_put_signal(shmemx_device_t shmem, u64 *data, u64 value, u64 *signal, int to)
{
    return shmemx::put_signal(shmem, data, &value, 1, signal, 1, SHMEM_SIGNAL_ADD, to);
}

int test_wait(shmemx_device_t shmem, const u64 *word, u64 value)
{
    return shmemx::wait_until(shmem, word, SHMEM_CMP_EQ, value);
}

int test_put(shmemx_device_t shmem, u64 *dest, u64 value, int to)
{
    int begun = shmemx::p(shmem, dest, value, to);
    return begun ? begun : shmemx::quiet(shmem);
}

int test_fetch(shmemx_device_t shmem, u64 *word, int to, u64 *found)
{
    *found = shmemx::atomic_fetch(shmem, word, to);
    return shmemx::quiet(shmem);
}

}
