//! Jobs on several machines, which are all this one: an agent of `oshrun` has the PEs of each, and
//! PEs of different ones reach each other by TCP.

use crate::common::{Job, kill, test_name, time_limit};
use oxshmem::Result;

/// Two machines with two PEs each, whose agents are started here, and this machine's own interface:
/// there may be no other.
fn on_machines(test: &'static str) -> Job {
    let hosts = &["-H", "a:2,b:2", "--launch-agent", "env OXSHMEM_TEST_HOST={host}"];
    Job::new(test, 4).launcher_args(hosts).env("SHMEM_NET_INTERFACES=lo")
}

#[test]
fn operations_and_collectives_cross_machines() {
    let _limit = time_limit(60);
    let ended = on_machines(test_name!()).run(|world| async move {
        let (me, n, ctx) = (world.my_pe(), world.n_pes(), world.context());
        let words = world.alloc_zeroed::<u64>(1024).await?;
        let sums = world.alloc_zeroed::<u64>(1024).await?;
        for round in 1..20 {
            (0..1024).for_each(|i| words.at(i).store(round * (me + i) as u64));
            world.team().sum_reduce(&sums, &words).await?;
            assert!((0..1024).all(|i| sums.at(i).load() == round * (6 + 4 * i) as u64), "round {round}");
            world.barrier_all().await?;
            ctx.fetch_add(sums.at(7), 1, (me + 2) % n).await?;
            world.barrier_all().await?;
            assert_eq!(sums.at(7).load(), round * 34 + 1);
            world.barrier_all().await?;
        }
        println!("PE {me} is well");
        Ok(())
    });
    assert_eq!(ended.stdout.matches("is well").count(), 4, "{ended:?}");
}

#[test]
fn a_pe_that_is_killed_is_named_and_not_one_that_noticed_it() {
    let _limit = time_limit(60);
    async fn work() -> Result<()> {
        let world = oxshmem::init().await?;
        loop {
            world.barrier_all().await?;
        }
    }
    let test = test_name!();
    for _ in 0..5 {
        let job = on_machines(test).start(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
            let ended: Result<()> = runtime.block_on(work());
            println!("{ended:?}");
            std::process::exit(7);
        });
        let pes = job.pes(4);
        std::thread::sleep(std::time::Duration::from_millis(300));
        kill(pes[2], libc::SIGKILL);
        let ended = job.end();
        assert_eq!(ended.status, 137, "{ended:?}");
        assert!(ended.stderr.contains(&format!("(pid {}, host ", pes[2])), "{ended:?}");
    }
}
