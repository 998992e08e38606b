/* PEs that leave the job while another is in one call too many, and threads that leave a wait in other ways than by its end. */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static long word, never, lock, sum, mine;
static jmp_buf away;

static void *waits(void *unused) {
    (void)unused;
    shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    pthread_testcancel();
    return NULL;
}

static void *locks(void *unused) {
    (void)unused;
    shmem_set_lock(&lock);
    pthread_testcancel();
    return NULL;
}

static void jump(int signal) {
    (void)signal;
    longjmp(away, 1);
}

/* Everything that takes a lock of the library, several times. */
static void go_on(void) {
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    for (int round = 1; round <= 20; round++) {
        shmem_barrier_all();
        shmem_long_p(&word, round, next);
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, round);
        mine = round;
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1) == 0 && sum == (long)round * n);
        char *block = (char *)shmem_malloc(100);
        CHECK(block != NULL);
        shmem_free(block);
        shmem_ctx_t ctx;
        CHECK(shmem_ctx_create(0, &ctx) == 0);
        shmem_ctx_destroy(ctx);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (strcmp(what, "barrier") == 0) {
        /* PE 0 is in one barrier too many, and comes to it before the others leave, or after. */
        usleep(me == 0 ? atoi(argv[2]) : atoi(argv[3]));
        if (me == 0) shmem_barrier_all();
    } else if (strcmp(what, "team") == 0) {
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        usleep(me == 0 ? atoi(argv[2]) : atoi(argv[3]));
        if (me == 0) shmem_team_sync(team);
        shmem_team_destroy(team);
    } else if (strcmp(what, "cancel") == 0) {
        if (me == 0) {
            shmem_set_lock(&lock);
            for (int round = 0; round < 20; round++) {
                pthread_t thread;
                CHECK(pthread_create(&thread, NULL, round % 2 ? waits : locks, NULL) == 0);
                usleep(200 * (round % 5) * (round % 5) * (round % 5));
                CHECK(pthread_cancel(thread) == 0);
                /* It is cancelled when its call has ended. */
                if (round % 2) shmem_long_p(&never, 1, 0);
                else shmem_clear_lock(&lock);
                void *result;
                CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
                shmem_long_p(&never, 0, 0);
            }
        }
        go_on();
    } else if (strcmp(what, "jump") == 0) {
        signal(SIGALRM, jump);
        if (setjmp(away) == 0) {
            sigset_t alarm_only;
            sigemptyset(&alarm_only);
            sigaddset(&alarm_only, SIGALRM);
            pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
            alarm(1);
        }
        /* First until the signal, which jumps to the lines above, then once more. */
        shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
    }
    shmem_finalize();
    return 0;
}
