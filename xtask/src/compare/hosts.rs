//! Two PEs on different hosts beside bare sockets, bare UCX and UCX's own benchmark.

use std::{
    array::from_fn,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{
    LIMIT, Settings, apart,
    between::{self, Carrier, HostFigures},
    cable::Cable,
    figures::short,
    page, peer, remove,
};
use crate::{
    debian,
    run::{Failure, Job},
};

const PAGE: &str = "book/src/compare-hosts.md";

const METHOD: &str = "\
Two PEs, bound to a core each, that `oshrun --fake-hosts 2` has placed on two simulated hosts. Each round runs them three times: over the
library's own TCP net, over that net with every byte encrypted (`SHMEM_NET_SECURITY=encrypt`), and over UCX (`SHMEM_NET=ucx`), which uses TCP too.

The first table is of a PE that computes and calls nothing, which its helper thread serves: medians of the times that the other PE takes for
one operation (`shmem-perf --serving`). Where PEs are not bound, the scheduler decides where that thread runs.

The next ones are of each operation of ours (`benches/src/remote.rs`) in turns with a bare socket and with bare UCX between the two processes
that run ours. The bare socket (`benches/src/raw_socket.rs`) is one thread a side that polls a TCP socket with `TCP_NODELAY` and buffers of
256 KiB, and never sleeps. Beside latencies stands what it takes for a message of 64 bytes and an answer of 64 bytes; beside transfers, how fast it writes blocks of
these bytes, until a byte says that all were read. It has no figure for a rate of words, which it would have to collect as ours does.
Bare UCX (`benches/src/raw_ucx.rs`) does the operation itself: one thread a side, no more than the call and `ucp_worker_progress`, at a
target that does nothing but serve. All use the same buffers. Bare UCX's longer puts and gets over TCP are messages of 8 KiB, which it copies;
ours are frames of a stream (*Over TCP* in *Several hosts*). *Both ways* are puts of both PEs at a time, and bytes of both.
The median of each counts, and of the rounds the one whose ratio is in the middle, since the machine is faster at one
time than at another. A PE that waits polls, as does its target for a tenth of a millisecond after each message.
`ucx_perftest` runs between the rounds, over TCP and bound to the same cores, once for each figure that it has, of which the best counts;
its latencies are its 50th percentile. It has none for a put with a flush, and its put bandwidth and rate leave out the flush at the end. Its
get has been seen to take a millisecond, for a reason that was not looked into.

Beside other ways of ours are nonblocking gets and atomic operations that fetch, of 8 bytes, beside these one by one; strided transfers of 1,000
elements of 8 bytes, beside contiguous ones; and random `xor`s of 8-byte words: in a session, one by one, and aggregated by hand, which is to
put blocks of places and values, with a signal, that the other PE applies.

All tables but the first follow again for two network namespaces that a virtual cable joins, where root measures: packets then pass a device.
`ucx_perftest` does not run there.

Targets are those of the TCP net: a PE that computes serves others within 100 us; latencies at most 1.15 times the bare socket's message and
answer; transfers of 1 MiB at least 0.8 of the bare socket's bandwidth, shorter ones at least 0.95 of bare UCX's; 5 million puts of 8 bytes a
second; nonblocking operations that fetch words at least 10 times as fast as one by one; a session at least half as fast as by
hand; a strided transfer at most 3 times what a contiguous one takes; encrypted, 1 MiB at least 0.4 as fast as plain.
";

/// What `ucx_perftest` measures: our row's name, its bytes, the test, the iterations, and which
/// column has it.
const TESTS: [(&str, u64, &str, &str, usize); 5] = [
    ("remote get", 8, "ucp_get", "20000", 1),
    ("remote fetch_add", 8, "ucp_fadd", "20000", 1),
    ("remote put_nbi", 8, "ucp_put_bw", "300000", 7),
    ("remote put_nbi", 1 << 20, "ucp_put_bw", "1000", 5),
    ("remote get_nbi", 1 << 20, "ucp_get", "1000", 5),
];

/// Measures, prints, and writes the chapter unless `quick`.
pub(super) fn compare(release: &Path, folder: &Path, settings: Settings) -> Result<(), Failure> {
    debian::install("ucx_perftest is", &["ucx-utils"], || Job::new("ucx_perftest", ["-h"]).works())?;
    let cable = Cable::lay(folder)?;
    let (mut simulated, mut joined) = (HostFigures::new(), HostFigures::new());
    let mut served = SERVED.map(|_| HostFigures::new());
    let (mut four, mut apart) = (apart::Collectives::default(), apart::Collectives::default());
    let rounds = settings.rounds;
    for round in 1..=rounds {
        println!("=== round {round} of {rounds}: 2 PEs on 2 hosts");
        measure(release, folder, settings, None, &mut simulated)?;
        for ((_, bind, carrier), figures) in SERVED.into_iter().zip(&mut served) {
            serving(release, folder, bind, carrier, figures)?;
        }
        for (name, bytes, test, iterations, column) in TESTS {
            let value = perftest(test, bytes, iterations, column)?;
            if let (Some(value), Some(figure)) = (value, simulated.get_mut(&(name.to_owned(), bytes))) {
                // It counts in MB/s and in messages a second.
                let value = match figure.unit.as_str() {
                    "GB/s" => value * 1.048_576e-3,
                    "M/s" => value / 1e6,
                    _ => value,
                };
                figure.perftest = Some(figure.perftest.map_or(value, |best| figure.better(best, value)));
            }
        }
        if let Some(cable) = &cable {
            println!("=== round {round} of {rounds}: 2 PEs in 2 network namespaces");
            measure(release, folder, settings, Some(cable), &mut joined)?;
            apart.measure(release, folder, settings, Some(cable))?;
        }
        println!("=== round {round} of {rounds}: 4 PEs on 4 hosts");
        four.measure(release, folder, settings, None)?;
    }
    let beside = format!("{} and {}", version(), peer::version());
    let mut text = page::head("Several hosts compared", &beside, rounds, METHOD);
    serving_table(&mut text, served);
    for (title, figures) in [("Simulated hosts, over loopback", simulated), ("Network namespaces", joined)] {
        if !figures.is_empty() {
            between::tables(&mut text, title, figures);
        }
    }
    apart::tables(
        &mut text,
        [("Two hosts, in network namespaces", apart), ("Four hosts, over loopback", four)],
    );
    if !settings.quick {
        fs::write(PAGE, text.trim_end().to_owned() + "\n")?;
        println!("{PAGE}");
    }
    Ok(())
}

/// One round over each carrier, on simulated hosts or in the namespaces that a cable joins.
fn measure(
    release: &Path,
    folder: &Path,
    settings: Settings,
    cable: Option<&Cable>,
    figures: &mut HostFigures,
) -> Result<(), Failure> {
    let file = folder.join("hosts.json");
    for carrier in Carrier::ALL {
        remove(&file)?;
        let mut job = carrier.job(release, 2, "core");
        if let Some(cable) = cable {
            job = job.args([cable.script()]);
        }
        job = job.args([release.join("shmem-perf")]).args(["--remote", "--json"]).args([&file]);
        if settings.quick {
            job = job.args(["--quick"]);
        }
        job.run()?;
        between::read(&file, carrier, figures)?;
    }
    Ok(())
}

/// Columns of the first table: what they say, how PEs are bound, and what carries their messages.
const SERVED: [(&str, &str, Carrier); 3] = [
    ("bound to a core", "core", Carrier::Tcp),
    ("not bound", "none", Carrier::Tcp),
    ("bound, over UCX", "core", Carrier::Ucx),
];

/// One round of a PE that computes.
fn serving(
    release: &Path,
    folder: &Path,
    bind: &str,
    carrier: Carrier,
    figures: &mut HostFigures,
) -> Result<(), Failure> {
    let file = folder.join("serving.json");
    remove(&file)?;
    carrier
        .job(release, 2, bind)
        .args([release.join("shmem-perf")])
        .args(["--serving", "--json"])
        .args([&file])
        .run()?;
    between::read(&file, carrier, figures)
}

/// Prints the table of a PE that computes, and adds it to the chapter.
fn serving_table(text: &mut String, served: [HostFigures; SERVED.len()]) {
    let operations: Vec<_> = served[0].keys().cloned().collect();
    let rows = operations.iter().map(|key| {
        // While the PE computes, and while it waits.
        let pairs: [_; SERVED.len()] =
            from_fn(|at| served[at].get(key).and_then(|figure| figure.beside(SERVED[at].2)));
        let computes = pairs.map(|pair| pair.map_or(f64::NAN, |(computes, _)| computes));
        let waits = pairs[0].map_or(f64::NAN, |(_, waits)| waits);
        let met = computes[..2].iter().all(|&time| time <= 100.0);
        let times = computes.into_iter().chain([waits]).map(short);
        let head = [key.0.trim_start_matches("served ").to_owned()];
        head.into_iter().chain(times).chain([between::verdict(met, "> 100 us")]).collect()
    });
    let columns: Vec<_> = SERVED.iter().map(|(column, ..)| *column).collect();
    let head = ["operation", &columns.join("|"), "bound, while it waits", "target"].join("|");
    between::table(text, "A PE that computes", &head, rows.collect());
}

/// Which UCX it was.
fn version() -> String {
    let output = Job::new("ucx_info", ["-v"]).output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let version = text.lines().find_map(|line| line.split_once("ersion ").map(|(_, version)| version.trim()));
    format!("UCX {}", version.unwrap_or("of an unknown version"))
}

/// A process that is ended when it is not needed any more.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One figure of `ucx_perftest` over TCP; none if it takes forever, as it does now and then.
fn perftest(test: &str, bytes: u64, iterations: &str, column: usize) -> Result<Option<f64>, Failure> {
    let start = |core: &str| {
        let mut command = Command::new("taskset");
        command.args(["-c", core, "ucx_perftest", "-p", "13947"]).env("UCX_TLS", "tcp").stderr(Stdio::null());
        command
    };
    let server = Server(start("1").stdout(Stdio::null()).spawn()?);
    thread::sleep(Duration::from_millis(500));
    let size = bytes.to_string();
    let mut client = start("0");
    client.args(["127.0.0.1", "-t", test, "-s", &size, "-n", iterations]).stdout(Stdio::piped());
    let mut client = Server(client.spawn()?);
    let deadline = Instant::now() + Duration::from_secs(LIMIT);
    while client.0.try_wait()?.is_none() {
        if Instant::now() > deadline {
            println!("ucx_perftest -t {test} takes longer than {LIMIT} s: no figure");
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    if let Some(mut out) = client.0.stdout.take() {
        std::io::Read::read_to_string(&mut out, &mut text)?;
    }
    drop(server);
    let last = text.lines().find_map(|line| line.strip_prefix("Final:")).unwrap_or_default();
    let value = last.split_whitespace().nth(column).and_then(|value| value.parse().ok());
    value.map(Some).ok_or_else(|| Failure::new(format!("ucx_perftest -t {test} printed no figure: {last}")))
}
