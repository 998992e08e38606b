//! PEs that call different collectives, in pairs of everything that does not go together.
#![allow(dead_code, reason = "each test file uses some of it")]

use oxshmem::{Error, Result, prelude::*};

use crate::common::{doing, soon};

/// What a PE may call, on memory that suffices for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Sum(usize),
    SumSigned,
    Max,
    SumLarge,
    Inscan,
    InscanLarge,
    Exscan,
    Broadcast(usize, usize),
    Collect,
    CollectLarge,
    Fcollect(usize),
    Alltoall(usize),
    Alltoalls(usize),
    Sync,
    Split,
    Bytes,
    Destroy,
    /// These calls on elements of the same size and another type.
    Signed(&'static str),
    /// Arguments that its PE refuses.
    Unfit(&'static str),
}

const LARGE: usize = 4000;

pub(crate) async fn perform(
    team: &Team,
    does: Does,
    to: SymView<'_, u64>,
    from: SymView<'_, u64>,
) -> Result<()> {
    let n = team.n_pes();
    let part = |len: usize| (to.slice(..len), from.slice(..len));
    let ((to4, from4), (large_to, large_from)) = (part(4), part(LARGE));
    match does {
        Does::Sum(len) => team.sum_reduce(part(len).0, part(len).1).await,
        Does::SumSigned => team.sum_reduce(to4.cast::<i64>()?, from4.cast::<i64>()?).await,
        Does::Max => team.max_reduce(to4, from4).await,
        Does::SumLarge => team.sum_reduce(large_to, large_from).await,
        Does::Inscan => team.sum_inscan(to4, from4).await,
        Does::InscanLarge => team.sum_inscan(large_to, large_from).await,
        Does::Exscan => team.sum_exscan(to4, from4).await,
        Does::Broadcast(len, root) => team.broadcast(part(len).0, part(len).1, root % n).await,
        Does::Collect => team.collect(to, from4).await,
        Does::CollectLarge => team.collect(to, large_from).await,
        Does::Fcollect(len) => team.fcollect(to.slice(..n * len), from.slice(..len)).await,
        Does::Alltoall(len) => team.alltoall(to.slice(..n * len), from.slice(..n * len)).await,
        Does::Alltoalls(stride) => team.alltoalls(to, from, stride, 1, 4).await,
        Does::Sync => team.sync().await,
        Does::Split => team.split_strided(0, 1, n).await.map(drop),
        Does::Bytes => team.broadcast_bytes(Some(vec![1; 10]), 0).await.map(drop),
        Does::Destroy => team.destroy().await,
        Does::Signed(call) => {
            let (to, from) = (to.cast::<i64>()?, from.cast::<i64>()?);
            match call {
                "broadcast" => team.broadcast(to.slice(..4), from.slice(..4), 0).await,
                "large broadcast" => team.broadcast(to.slice(..LARGE), from.slice(..LARGE), 0).await,
                "collect" => team.collect(to, from.slice(..4)).await,
                "fcollect" => team.fcollect(to.slice(..n * 4), from.slice(..4)).await,
                "alltoall" => team.alltoall(to.slice(..n * 4), from.slice(..n * 4)).await,
                "alltoalls" => team.alltoalls(to, from, 1, 1, 4).await,
                call => panic!("there is no {call} of another type"),
            }
        }
        Does::Unfit("sum_reduce") => team.sum_reduce(to.slice(..3), from4).await,
        Does::Unfit("sum_exscan") => team.sum_exscan(to4, from.slice(..3)).await,
        Does::Unfit("broadcast") => team.broadcast(to4, from4, n).await,
        Does::Unfit("fcollect") => team.fcollect(to.slice(..n), from4).await,
        Does::Unfit("collect") => team.collect(to.slice(..2), from4).await,
        Does::Unfit("large collect") => team.collect(to.slice(..LARGE), large_from).await,
        Does::Unfit("alltoall") => team.alltoall(to.slice(..n), to.slice(..n)).await,
        Does::Unfit("alltoalls") => team.alltoalls(to, from, 0, 1, 4).await,
        Does::Unfit("broadcast_bytes") => team.broadcast_bytes(None, n).await.map(drop),
        Does::Unfit(call) => panic!("there is no way to call {call} with arguments that do not fit"),
    }
}

/// Whether a call was refused for its arguments.
fn is_about_arguments(error: &Error) -> bool {
    use Error::{InvalidStride, LengthMismatch, Overlap, PeOutOfRange};
    matches!(error, LengthMismatch { .. } | PeOutOfRange { .. } | Overlap { .. } | InvalidStride { .. })
}

/// Two calls that do not go together, with what their description must say.
const PAIRS: &[(Does, &str, Does, &str)] = &[
    (Does::Sum(4), "sum_reduce of 4 elements of u64", Does::Sum(5), "sum_reduce of 5 elements of u64"),
    (Does::Sum(4), "sum_reduce of 4 elements of u64", Does::SumSigned, "sum_reduce of 4 elements of i64"),
    (Does::Sum(4), "sum_reduce of 4", Does::Max, "max_reduce of 4"),
    (Does::Sum(4), "sum_reduce of 4", Does::SumLarge, "sum_reduce of 4000"),
    (Does::SumLarge, "sum_reduce of 4000", Does::Sum(LARGE + 1), "sum_reduce of 4001"),
    (Does::Sum(100), "sum_reduce of 100", Does::Sum(13), "sum_reduce of 13"),
    (Does::Sum(4), "sum_reduce", Does::Inscan, "sum_inscan"),
    (Does::Inscan, "sum_inscan", Does::Exscan, "sum_exscan"),
    (Does::InscanLarge, "sum_inscan of 4000", Does::Inscan, "sum_inscan of 4"),
    (Does::Sum(4), "sum_reduce", Does::Fcollect(4), "fcollect of 4"),
    (Does::Fcollect(4), "fcollect of 4", Does::Fcollect(5), "fcollect of 5"),
    (Does::Fcollect(4), "fcollect of 4", Does::Fcollect(LARGE), "fcollect of 4000"),
    (Does::Collect, "collect", Does::Fcollect(4), "fcollect"),
    (Does::CollectLarge, "collect", Does::Sum(4), "sum_reduce"),
    (Does::Alltoall(4), "alltoall of 4", Does::Alltoall(5), "alltoall of 5"),
    (Does::Alltoall(4), "alltoall of 4", Does::Alltoall(LARGE), "alltoall of 4000"),
    (Does::Alltoall(4), "alltoall of 4", Does::Alltoalls(1), "alltoalls of 4"),
    (Does::Alltoalls(1), "with strides 1 and 1", Does::Alltoalls(2), "with strides 2 and 1"),
    (Does::Broadcast(4, 0), "broadcast of 4", Does::Broadcast(5, 0), "broadcast of 5"),
    (Does::Broadcast(4, 0), "broadcast of 4", Does::Broadcast(LARGE, 0), "broadcast of 4000"),
    (Does::Broadcast(4, 0), "broadcast of 4", Does::Sum(4), "sum_reduce"),
    (Does::Broadcast(LARGE, 0), "broadcast of 4000", Does::SumLarge, "sum_reduce of 4000"),
    (Does::Broadcast(4, 0), "from PE 0", Does::Broadcast(4, 1), "from PE 1"),
    (Does::Broadcast(4, 0), "of 4 elements of u64", Does::Signed("broadcast"), "of 4 elements of i64"),
    (Does::Broadcast(LARGE, 0), "elements of u64", Does::Signed("large broadcast"), "elements of i64"),
    (Does::Collect, "of 4 elements of u64", Does::Signed("collect"), "of 4 elements of i64"),
    (Does::Fcollect(4), "of 4 elements of u64", Does::Signed("fcollect"), "of 4 elements of i64"),
    (Does::Alltoall(4), "of 4 elements of u64", Does::Signed("alltoall"), "of 4 elements of i64"),
    (Does::Alltoalls(1), "of 4 elements of u64", Does::Signed("alltoalls"), "of 4 elements of i64"),
    (Does::Sync, "sync", Does::Sum(4), "sum_reduce"),
    (Does::Sync, "sync", Does::Broadcast(4, 0), "broadcast"),
    (Does::Sync, "sync", Does::Alltoall(4), "alltoall"),
    (Does::Sync, "sync", Does::SumLarge, "sum_reduce"),
    (Does::Split, "split", Does::Sync, "sync"),
    (Does::Split, "split", Does::Sum(4), "sum_reduce"),
    (Does::Bytes, "broadcast_bytes", Does::Sum(4), "sum_reduce"),
    (Does::Bytes, "broadcast_bytes", Does::Sync, "sync"),
    (Does::Destroy, "destroy", Does::Sum(4), "sum_reduce"),
    (Does::Sum(4), "sum_reduce of 4", Does::Unfit("sum_reduce"), "reduce with arguments that do not fit"),
    (
        Does::SumLarge,
        "sum_reduce of 4000",
        Does::Unfit("sum_reduce"),
        "reduce with arguments that do not fit",
    ),
    (Does::Exscan, "sum_exscan of 4", Does::Unfit("sum_exscan"), "sum_exscan with arguments that do not fit"),
    (
        Does::Broadcast(4, 0),
        "broadcast of 4",
        Does::Unfit("broadcast"),
        "broadcast with arguments that do not fit",
    ),
    (
        Does::Broadcast(LARGE, 0),
        "broadcast of 4000",
        Does::Unfit("broadcast"),
        "broadcast with arguments that do not fit",
    ),
    (Does::Fcollect(4), "fcollect of 4", Does::Unfit("fcollect"), "fcollect with arguments that do not fit"),
    (Does::Collect, "collect", Does::Unfit("collect"), "collect with arguments that do not fit"),
    (Does::CollectLarge, "collect", Does::Unfit("large collect"), "collect with arguments that do not fit"),
    (
        Does::Alltoall(LARGE),
        "alltoall of 4000",
        Does::Unfit("alltoall"),
        "alltoall with arguments that do not fit",
    ),
    (Does::Alltoalls(1), "alltoalls", Does::Unfit("alltoalls"), "alltoalls with arguments that do not fit"),
    (
        Does::Bytes,
        "broadcast_bytes",
        Does::Unfit("broadcast_bytes"),
        "broadcast_bytes with arguments that do not fit",
    ),
    (Does::Sync, "sync", Does::Unfit("fcollect"), "fcollect with arguments that do not fit"),
];

/// One PE calls the second of each pair, the others the first, and then whatever waits for
/// everybody.
pub(crate) async fn differ(world: World, odd: usize) -> Result<()> {
    let n = world.n_pes();
    let room = n * (LARGE + 1);
    let (to, from) = (world.alloc::<u64>(room).await?, world.alloc_zeroed::<u64>(room).await?);
    for &(most, most_text, one, one_text) in PAIRS {
        for (a, a_text, b, b_text) in [(most, most_text, one, one_text), (one, one_text, most, most_text)] {
            // Two PEs that both believe to be the root wait for nobody, and get no error.
            if matches!((a, b), (Does::Broadcast(_, x), Does::Broadcast(_, y)) if x != y && y == odd) {
                continue;
            }
            let team = world.team().split_strided(n - 1, -1, n).await?.expect("all are in it");
            let does = if team.my_pe() == odd { b } else { a };
            let what =
                |call| format!("{call:?} by PE {odd} of {n} and {:?} by others, at PE {}", a, team.my_pe());
            doing(world.my_pe(), &what(b));
            let mut outcome = soon(&what(b), perform(&team, does, to.view(), from.view())).await;
            // A PE that had not to wait waits now, in what nobody else has called.
            let follows = if a == Does::Sync || b == Does::Sync { Does::Max } else { Does::Sync };
            if outcome.is_ok() {
                let then = perform(&team, follows, to.view(), from.view());
                outcome = soon(&format!("{follows:?} after {}", what(b)), then).await;
            }
            match outcome {
                Err(Error::CollectiveMismatch { pe_a, call_a, pe_b, call_b }) => {
                    for (pe, call) in [(pe_a, &call_a), (pe_b, &call_b)] {
                        let text = if pe == odd { b_text } else { a_text };
                        // The names of the two that may follow, too.
                        let is_later = call.contains("max_reduce of 4") || call == "sync";
                        assert!(call.contains(text) || is_later, "PE {pe} called {call}: {}", what(b));
                    }
                    assert!(pe_a == odd || pe_b == odd, "{pe_a} {pe_b}: {}", what(b));
                }
                Err(Error::TeamDestroyed { .. }) if does == Does::Destroy => {}
                Err(error) if matches!(does, Does::Unfit(_)) && is_about_arguments(&error) => {}
                other => panic!("{other:?}: {}", what(b)),
            }
            // The team stays as it is; nothing hangs.
            for does in [Does::Sum(4), Does::Broadcast(4, 0), Does::SumLarge] {
                let again =
                    soon(&format!("another after {}", what(b)), perform(&team, does, to.view(), from.view()))
                        .await;
                assert!(again.is_err(), "{}", what(b));
            }
            world.barrier_all().await?;
        }
    }
    Ok(())
}
