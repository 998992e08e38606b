//! Device memory of PEs that are left, on the emulated device.

use std::time::Duration;

use oxshmem::{Error, Result, prelude::*};

use crate::{
    common::{Job, test_name, time_limit},
    go_on, is_lost, kill_this,
};

const LOST: usize = 2;
const LEN: usize = 64 << 10;

/// One of four dies while device memory is written, read and waited for.
async fn three_go_on_with_their_devices(world: World) -> Result<()> {
    let (me, ctx) = (world.my_pe(), world.context());
    let gpu = world.space(SpaceKind::Gpu)?;
    let words = gpu.alloc_zeroed::<u64>(LEN).await?;
    let flags = gpu.alloc_zeroed::<u64>(4).await?;
    let here = world.space(SpaceKind::Cpu)?.alloc_zeroed::<u64>(LEN).await?;
    words.view().fill(me as u64 + 1);
    world.barrier_all().await?;
    if me == LOST {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            kill_this();
        });
    }
    let any = flags.at(3).wait_until(Cmp::Eq, 9).or_any_loss();
    // Without end, until the loss is known, of every kind.
    let mut failed = [false; 5];
    while failed.contains(&false) && me != LOST {
        let outcomes = [
            ctx.put(&words, &here.view().to_vec()[..], LOST).await,
            ctx.get(&words, LOST).await.map(drop),
            ctx.fetch_add(flags.at(0), 1, LOST).await.map(drop),
            ctx.put_signal(words.slice(..8), [1; 8], flags.at(1), Signal::Add(1), LOST).await,
            ctx.put(&here, words.view(), LOST).await,
        ];
        for (failed, outcome) in failed.iter_mut().zip(outcomes) {
            match outcome {
                Ok(()) => assert!(!*failed, "once lost, it stays so"),
                Err(Error::PeLost { pe: LOST, view: 1, .. }) => *failed = true,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    if me == LOST {
        std::future::pending::<()>().await;
    }
    is_lost(any.await, LOST, 1..=1);
    is_lost(gpu.team().sum_reduce(&words, &words).await, LOST, 1..=1);
    let _ = ctx.quiet().await;
    ctx.quiet().await.expect("it is reported once");
    let team = world.survivors().await.expect("survivors").team;
    // What was allocated before stays, and new memory is symmetric.
    let next = team.world_pe((team.my_pe() + 1) % 3).unwrap();
    let more = gpu.alloc_zeroed::<u64>(LEN).await?;
    ctx.put(&more, vec![me as u64; LEN], next).await?;
    ctx.quiet().await?;
    team.sync().await?;
    let before = team.world_pe((team.my_pe() + 2) % 3).unwrap() as u64;
    assert!(more.view().to_vec().iter().all(|&word| word == before));
    more.view().fill(me as u64);
    team.sum_reduce(&words, &more).await?;
    assert!(words.view().to_vec().iter().all(|&word| word == 4));
    gpu.free(more).await?;
    gpu.free(words).await?;
    gpu.free(flags).await?;
    assert_eq!(gpu.heap_use().used, 0);
    team.sync().await
}

#[test]
fn device_memory_goes_on_without_a_lost_pe() {
    let _limit = time_limit(90);
    for hosts in ["1", "2", "4"] {
        let spaces = ["SHMEM_ENABLE_CPU_SPACE=1", "SHMEM_ENABLE_GPU_SPACE=1", "SHMEM_GPU_EMULATE=1"];
        let job = spaces.iter().fold(Job::new(test_name!(), 4).hosts(hosts), |job, space| job.env(space));
        let ended = go_on(job, three_go_on_with_their_devices);
        assert_eq!(ended.status, 0, "{hosts} hosts: {ended:?}");
    }
}
