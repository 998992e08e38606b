//! A program that uses nothing of OpenSHMEM but what bindgen made of the header.

#[allow(warnings)]
mod shmem {
    include!("BINDINGS");
}

use shmem::*;

fn main() {
    // SAFETY: OpenSHMEM as its specification has it.
    unsafe {
        assert!(SHMEM_TEAM_GPU.is_null() && SHMEM_SPACE_CPU.is_null(), "nothing is known yet");
        shmem_init();
        let (me, n) = (shmem_my_pe(), shmem_n_pes());
        assert_eq!((SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION), (1, 6));
        assert!(SHMEM_TEAM_INVALID.is_null() && SHMEM_CTX_INVALID.is_null() && SHMEM_SPACE_INVALID.is_null());
        assert_eq!(shmem_team_n_pes(SHMEM_TEAM_WORLD), n);
        assert!((1..=n).contains(&shmem_team_n_pes(SHMEM_TEAM_SHARED)));
        // By default there is host memory alone.
        assert!(SHMEM_SPACE_DEFAULT == SHMEM_SPACE_CPU && !SHMEM_SPACE_CPU.is_null());
        assert_eq!(shmem_team_n_pes(SHMEM_TEAM_CPU), n);
        assert!(SHMEM_SPACE_GPU.is_null() && SHMEM_TEAM_GPU.is_null());

        let words = shmem_space_malloc(SHMEM_SPACE_CPU, 2 * size_of::<i64>()).cast::<i64>();
        words.write(-1);
        shmem_barrier_all();
        let mine = i64::from(me);
        shmem_ctx_long_put(SHMEM_CTX_DEFAULT, words, &mine, 1, (me + 1) % n);
        shmem_barrier_all();
        assert_eq!(words.read(), i64::from((me + n - 1) % n));
        assert_eq!(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, words.add(1), words, 1), 0);
        assert_eq!(words.add(1).read(), i64::from(n * (n - 1) / 2));
        shmem_long_atomic_set(words, 7, me);
        shmem_long_wait_until(words, SHMEM_CMP_EQ as i32, 7);
        shmem_space_free(SHMEM_SPACE_CPU, words.cast());

        let mut team = SHMEM_TEAM_INVALID;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, std::ptr::null(), 0, &mut team);
        let mut context = SHMEM_CTX_INVALID;
        assert_eq!(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED as _, &mut context), 0);
        shmem_ctx_destroy(context);
        shmem_team_destroy(team);
        shmem_finalize();
    }
    println!("passed");
}
