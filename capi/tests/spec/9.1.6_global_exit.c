/* 9.1.6, example 8: one PE ends the job, with a status, for want of a file; its argument is the file. */
#include "../c/check.h"

int main(int argc, char *argv[]) {
    shmem_init();
    if (shmem_my_pe() == 0) {
        FILE *input = fopen(argc > 1 ? argv[1] : "no-such-input.txt", "r");
        if (input == NULL) {
            /* This has to be flushed. */
            printf("no input");
            shmem_global_exit(EXIT_FAILURE);
        }
        printf("some input");
        fclose(input);
    }
    /* The others wait here when the job ends. */
    shmem_finalize();
    return 0;
}
