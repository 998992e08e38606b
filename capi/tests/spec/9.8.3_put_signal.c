/* 9.8.3, example 27: a broadcast around a ring of PEs by put-with-signal. */
#include "../c/check.h"

#define SIZE 2048

int main(void) {
    static uint64_t arrived = 0;
    shmem_init();
    int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
    uint64_t *message = malloc(SIZE * sizeof *message);
    uint64_t *data = shmem_calloc(SIZE, sizeof *data);
    CHECK(message != NULL && data != NULL);
    for (uint64_t i = 0; i < SIZE; i++)
        message[i] = 10000 * ((uint64_t)me + 1) + i;
    if (me == 0) {
        shmem_put_signal(data, message, SIZE, &arrived, 1, SHMEM_SIGNAL_SET, next);
        /* The last PE sends it back. */
        shmem_wait_until(&arrived, SHMEM_CMP_EQ, 1);
    } else {
        shmem_wait_until(&arrived, SHMEM_CMP_EQ, 1);
        shmem_put_signal(data, data, SIZE, &arrived, 1, SHMEM_SIGNAL_SET, next);
    }
    /* The signal says that the data is here. */
    for (uint64_t i = 0; i < SIZE; i++)
        CHECK(data[i] == 10000 + i);
    free(message);
    shmem_free(data);
    shmem_finalize();
    return 0;
}
