//! Another user of the machine: a process that is no PE, and what it can reach of a job on
//! simulated hosts.

use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    time::{Duration, Instant},
};

use crate::common::{Job, Launcher, Running, reaches_hosts, test_name, time_limit};
use oxshmem::{Result, World};

/// What a connection to UCX begins with.
const MAGIC: u64 = 0xcafe_babe_1234_5678;

/// Sends words to and fro for some seconds, and looks at memory that nobody is to write to.
async fn work(world: World) -> Result<()> {
    let (me, ctx) = (world.my_pe(), world.context());
    let words = world.alloc_zeroed::<u64>(1024).await?;
    let until = Instant::now() + Duration::from_secs(4);
    let mut rounds = 0;
    loop {
        rounds += 1;
        ctx.put(words.at(me), rounds, 1 - me).await?;
        ctx.fetch_add(words.at(2), 1, 1 - me).await?;
        world.barrier_all().await?;
        assert_eq!(words.at(1 - me).load(), rounds);
        if world.broadcast_bytes((me == 0).then(|| vec![u8::from(Instant::now() > until)]), 0).await? == [1] {
            break;
        }
    }
    assert!((3..1024).all(|i| words.at(i).load() == 0), "somebody has written to the heap");
    println!("PE {me} is well");
    Ok(())
}

/// Where the PEs listen: addresses of this machine that have a socket of theirs.
fn listening(pes: &[u32]) -> Vec<SocketAddrV4> {
    let mut sockets = HashSet::new();
    for pe in pes {
        for descriptor in fs::read_dir(format!("/proc/{pe}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(descriptor.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|it| it.strip_prefix("socket:[")?.strip_suffix(']'));
            sockets.extend(inode.map(str::to_owned));
        }
    }
    let table = fs::read_to_string("/proc/net/tcp").expect("procfs");
    let rows = table.lines().skip(1).filter_map(|row| {
        let fields: Vec<_> = row.split_whitespace().collect();
        // 0A: it listens.
        if fields[3] != "0A" || !sockets.contains(fields[9]) {
            return None;
        }
        let (address, port) = fields[1].split_once(':')?;
        let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
        Some(SocketAddrV4::new(Ipv4Addr::from(address), u16::from_str_radix(port, 16).ok()?))
    });
    rows.collect()
}

/// The PEs of a job, once they all listen.
fn await_listening(running: &Running, n: usize) -> Vec<SocketAddrV4> {
    let pes = running.pes(n);
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let found = listening(&pes);
        if found.len() >= n {
            return found;
        }
        assert!(Instant::now() < until, "{found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends bytes there, and takes what comes back for a moment.
fn send(to: SocketAddrV4, bytes: &[u8]) {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("it may be set");
    let _ = stream.write_all(bytes);
    let _ = stream.read(&mut [0; 64]);
}

#[test]
fn pes_of_simulated_hosts_listen_on_loopback_alone_and_a_stranger_that_connects_is_no_harm() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let job = Job::new(test_name!(), 2).under(Launcher::Oshrun).hosts("2");
    let running = job.start(|| {
        futures::executor::block_on(async {
            let world = oxshmem::init().await.expect("init");
            work(world.clone()).await.expect("it works");
            world.finalize().await.expect("finalize");
        });
    });
    let addresses = await_listening(&running, 2);
    println!("they listen on {addresses:?}");
    assert!(addresses.iter().all(|address| address.ip().is_loopback()), "{addresses:?}");
    for &address in &addresses {
        send(address, &[]);
        send(address, &[0xa5; 4096]);
        // What comes behind it is UCX's own to make sense of: see the book's chapter Security.
        send(address, &MAGIC.to_ne_bytes());
    }
    let ended = running.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert_eq!(ended.stdout.matches("is well").count(), 2, "{ended:?}");
    println!("{}", ended.stderr);
}
