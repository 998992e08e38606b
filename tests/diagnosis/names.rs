//! Every collective is shown under its name, and a barrier as one.

use std::{fs, path::Path, time::Duration};

use oxshmem::{ClusterOptions, Error, Link, LocalCluster, Result, prelude::*};
use oxshmem_progress::activity::Call;

use crate::common::{Job, is_pending, settings, soon, test_name, time_limit};

/// What is called, in this order, and as what it is shown.
const SHOWN: [(&str, &str); 27] = [
    ("sync_all", "sync"),
    ("broadcast", "broadcast"),
    ("broadcast_bytes", "broadcast_bytes"),
    ("collect", "collect"),
    ("fcollect", "fcollect"),
    ("alltoall", "alltoall"),
    ("alltoalls", "alltoalls"),
    ("and_reduce", "and_reduce"),
    ("or_reduce", "or_reduce"),
    ("xor_reduce", "xor_reduce"),
    ("min_reduce", "min_reduce"),
    ("max_reduce", "max_reduce"),
    ("sum_reduce", "sum_reduce"),
    ("prod_reduce", "prod_reduce"),
    ("sum_inscan", "sum_inscan"),
    ("sum_exscan", "sum_exscan"),
    ("alloc", "alloc"),
    ("alloc_zeroed", "alloc_zeroed"),
    ("alloc_aligned", "alloc_aligned"),
    ("alloc_with_hints", "alloc_with_hints"),
    ("realloc", "realloc"),
    ("free", "free"),
    ("reclaim", "reclaim"),
    ("split_strided", "team_split"),
    ("split_2d", "team_split"),
    ("destroy", "team_destroy"),
    ("finalize", "finalize"),
];

/// What the calls work on.
struct Operands {
    words: SymSlice<u64>,
    /// To be changed or freed.
    spare: Vec<SymSlice<u64>>,
    /// A team that is dropped is left, which is a collective too.
    teams: Vec<Team>,
}

/// Makes a call, in all of which PE 1 waits for PE 0.
async fn call(world: &World, operands: &mut Operands, name: &str) -> Result<()> {
    let Operands { words, spare, teams } = operands;
    let team = world.team();
    let (to, from, half) = (words.slice(..4), words.slice(4..8), words.slice(4..6));
    let mut spare = || spare.pop().expect("one for each");
    match name {
        "sync_all" => world.sync_all().await,
        "broadcast" => team.broadcast(to, from, 0).await,
        "broadcast_bytes" => {
            let bytes = (world.my_pe() == 0).then(|| vec![7; 10]);
            world.broadcast_bytes(bytes, 0).await.map(drop)
        }
        "collect" => team.collect(to, half).await,
        "fcollect" => team.fcollect(to, half).await,
        "alltoall" => team.alltoall(to, from).await,
        "alltoalls" => team.alltoalls(to, from, 1, 1, 2).await,
        "and_reduce" => team.and_reduce(to, from).await,
        "or_reduce" => team.or_reduce(to, from).await,
        "xor_reduce" => team.xor_reduce(to, from).await,
        "min_reduce" => team.min_reduce(to, from).await,
        "max_reduce" => team.max_reduce(to, from).await,
        "sum_reduce" => team.sum_reduce(to, from).await,
        "prod_reduce" => team.prod_reduce(to, from).await,
        "sum_inscan" => team.sum_inscan(to, from).await,
        "sum_exscan" => team.sum_exscan(to, from).await,
        "alloc" => world.alloc::<u64>(1).await.map(drop),
        "alloc_zeroed" => world.alloc_zeroed::<u64>(1).await.map(drop),
        "alloc_aligned" => world.alloc_aligned::<u64>(1, 256).await.map(drop),
        "alloc_with_hints" => world.alloc_with_hints::<u64>(1, Hints::SIGNAL_REMOTE).await.map(drop),
        "realloc" => world.realloc(spare(), 100).await.map(drop).map_err(Error::from),
        "free" => world.free(spare()).await.map_err(Error::from),
        "reclaim" => world.reclaim().await,
        "split_strided" => team.split_strided(0, 1, 2).await.map(|team| teams.extend(team)),
        "split_2d" => team.split_2d(1).await.map(|(row, column)| teams.extend([row, column])),
        "destroy" => teams[0].destroy().await,
        "finalize" => world.finalize().await,
        _ => panic!("{name}"),
    }
}

/// The collectives that `world` is in, by name.
fn shown(world: &World) -> Vec<&'static str> {
    let seen = world.pe().board().seen();
    let collectives = seen.iter().filter(|seen| seen.activity.number > 0);
    collectives.map(|seen| seen.activity.call.name()).collect()
}

#[test]
fn a_pe_that_waits_in_a_collective_is_shown_in_that_and_in_no_other() {
    let _limit = time_limit(60);
    let options = ClusterOptions { settings: settings(), ..ClusterOptions::default() };
    let ran = LocalCluster::run_with(2, options, |world| async move {
        let words = world.alloc_zeroed::<u64>(8).await?;
        let go = world.alloc_zeroed::<usize>(1).await?;
        let spare = vec![world.alloc::<u64>(1).await?, world.alloc::<u64>(1).await?];
        let mut operands = Operands { words, spare, teams: Vec::new() };
        for (turn, (name, expected)) in SHOWN.into_iter().enumerate() {
            if world.my_pe() == 0 {
                soon("the other's call", go.at(0).wait_until(Cmp::Gt, turn)).await?;
                soon(name, call(&world, &mut operands, name)).await?;
                continue;
            }
            let mut called = Box::pin(call(&world, &mut operands, name));
            assert!(is_pending(&mut called).await, "{name} waits");
            assert_eq!(shown(&world), [expected], "{name}");
            world.context().p(go.at(0), turn + 1, 0).await?;
            soon(name, called).await?;
        }
        Ok(())
    });
    ran.unwrap();
}

/// Names of collectives in the text of a program: whatever is given as one to what runs them.
fn names_in(text: &str) -> Vec<String> {
    const BEFORE: [&str; 9] = [
        "run(",
        "alloc_with(",
        ".alloc(",
        "staged(error, ",
        "staged_from(error, ",
        "refuse(",
        "let name = ",
        "let call = ",
        ": &str = ",
    ];
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    // What is given may be on a line of its own.
    let code: String = lines.collect();
    let mut names = Vec::new();
    for before in BEFORE {
        for (at, _) in code.match_indices(&format!("{before}\"")) {
            let name = &code[at + before.len() + 1..];
            names.push(name[..name.find('"').unwrap_or(name.len())].to_owned());
        }
    }
    names
}

fn sources(folder: &Path, text: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
        {
            text.push(fs::read_to_string(path).expect("a source"));
        }
    }
}

#[test]
fn every_name_that_a_collective_is_run_under_is_one_that_the_table_knows() {
    let _limit = time_limit(60);
    let mut text = Vec::new();
    for folder in ["src", "teams/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut text);
    }
    let names: Vec<String> = text.iter().flat_map(|text| names_in(text)).collect();
    for name in
        ["barrier_all", "alloc_zeroed", "realloc", "reclaim", "broadcast_bytes", "finalize", "split_2d"]
    {
        assert!(
            names.iter().any(|seen| seen == name),
            "this test has lost sight of {name}: it sees {names:?}"
        );
    }
    for name in names.into_iter().chain(SHOWN.map(|(name, _)| name.to_owned())) {
        assert_ne!(Call::collective(&name), Call::OtherCollective, "{name} is to be in the table of calls");
    }
}

/// For how long the last PE does not come.
const LATE: Duration = Duration::from_millis(2200);

#[test]
fn a_barrier_is_one_for_pes_that_have_something_to_complete_and_for_those_that_have_not() {
    let _limit = time_limit(60);
    let ended = Job::alone(test_name!()).end(|| {
        let mut settings = settings();
        settings.hang_timeout = Some(Duration::from_secs(1));
        // PEs 0 and 1 are on one host, PE 2 on another, to which a megabyte takes a second.
        let link = Link { bandwidth: 1 << 20, ..Link::default() };
        let placement = "2+1".parse().unwrap();
        let options = ClusterOptions { settings, link, placement, ..ClusterOptions::default() };
        let ran = LocalCluster::run_with(3, options, |world| async move {
            let data = world.alloc::<u64>(1 << 18).await?;
            world.barrier_all().await?;
            if world.my_pe() == 0 {
                drop(world.context().put_nbi(&data, vec![7; 1 << 18], 2));
            }
            if world.my_pe() == 2 {
                tokio::time::sleep(LATE).await;
            }
            world.barrier_all().await?;
            world.finalize().await
        });
        ran.unwrap();
    });
    assert_eq!(ended.status, 0, "{ended:?}");
    let reports: Vec<_> = ended.stderr.lines().filter(|line| line.contains(" waited ")).collect();
    let says = |pes: &str, what: &str| {
        let start = format!("oxshmem: {pes} on host ");
        assert!(
            reports.iter().any(|line| line.starts_with(&start) && line.contains(what)),
            "{}",
            ended.stderr
        );
    };
    says("PEs 0,1", " s in barrier #3 on the world team");
    says("PE 0", " s in quiet(");
    assert_eq!(reports.len(), 2, "{}", ended.stderr);
    assert!(!ended.stderr.contains("must call"), "{}", ended.stderr);
    let rows = ended.stderr.lines().filter(|line| line.starts_with("  "));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    let expected = |row: &Vec<&str>| row[0] == "0,1" && row[3..5] == ["barrier", "#3"];
    assert!(rows.len() == 3 && rows.iter().any(expected), "a head and two rows: {}", ended.stderr);
}
