//! Another user of the machine: a process that is no PE, and what it can reach of a job on
//! simulated hosts.

use std::{
    collections::{HashMap, HashSet},
    fs,
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::common::{
    Job, Launcher, Running, assert_nothing_left, reaches_hosts, shared_names, test_name, time_limit,
};
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

/// The sockets of processes, by the numbers that procfs has for them.
fn sockets(pids: &[u32]) -> HashSet<String> {
    let mut sockets = HashSet::new();
    for pid in pids {
        for descriptor in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(descriptor.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|it| it.strip_prefix("socket:[")?.strip_suffix(']'));
            sockets.extend(inode.map(str::to_owned));
        }
    }
    sockets
}

/// Where the PEs listen: addresses of this machine that have a socket of theirs.
fn listening(pes: &[u32]) -> Vec<SocketAddrV4> {
    let sockets = sockets(pes);
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

/// A PE that works, and leaves.
fn works() {
    futures::executor::block_on(async {
        let world = oxshmem::init().await.expect("init");
        work(world.clone()).await.expect("it works");
        world.finalize().await.expect("finalize");
    });
}

#[test]
fn pes_of_simulated_hosts_listen_on_loopback_alone_and_a_stranger_that_connects_is_no_harm() {
    let _limit = time_limit(60);
    if !reaches_hosts() {
        return;
    }
    let job = Job::new(test_name!(), 2).under(Launcher::Oshrun).hosts("2");
    let running = job.start(works);
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

/// The first packets with something in them that went each way of a connection, by its ports.
type Beginnings = Mutex<HashMap<(u16, u16), Vec<Vec<u8>>>>;

/// Everything that passes this machine's interfaces.
fn wiretap() -> Option<OwnedFd> {
    let all = i32::from((libc::ETH_P_IP as u16).to_be());
    // SAFETY: it makes a descriptor, or none.
    let tap = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, all) };
    if tap < 0 {
        println!("skipped: nothing can be recorded here: {}", std::io::Error::last_os_error());
        return None;
    }
    let patience = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    let len = size_of_val(&patience) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the option is what the kernel expects.
    unsafe {
        libc::setsockopt(tap, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const patience).cast(), len);
        Some(OwnedFd::from_raw_fd(tap))
    }
}

/// Records how connections of this library begin.
fn record(tap: &OwnedFd, beginnings: &Beginnings, over: &AtomicBool) {
    let mut packet = [0; 2048];
    let mut last = 0;
    let until = Instant::now() + Duration::from_secs(10);
    while !over.load(Relaxed) && Instant::now() < until {
        // SAFETY: there is room for as many bytes.
        let n = unsafe { libc::recv(tap.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), 0) };
        let Some(packet) = usize::try_from(n).ok().and_then(|n| packet.get(..n)) else { continue };
        // IP, then TCP, each with options.
        let Some(tcp) = packet.get(usize::from(packet[0] & 15) * 4..).filter(|_| packet[9] == 6) else {
            continue;
        };
        let word = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let (ports, sequence) = ((word(0), word(2)), [word(4), word(6)]);
        let Some(payload) = tcp.get(usize::from(tcp[12] >> 4) * 4..).filter(|it| !it.is_empty()) else {
            continue;
        };
        let mut beginnings = beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = payload.starts_with(b"oxshmem") && !beginnings.contains_key(&ports);
        // The loopback interface shows what it sends, and again what arrives.
        let id = u64::from(sequence[0]) << 16 | u64::from(sequence[1]);
        if (is_new || beginnings.get(&ports).is_some_and(|it| it.len() == 1)) && id != last {
            beginnings.entry(ports).or_default().push(payload.to_vec());
            last = id;
        }
    }
}

/// Makes this thread, for the kernel, one of another user, with the rights of that user alone.
fn become_nobody() {
    const NOBODY: libc::c_long = 65_534;
    // The library's functions would do it for the whole process.
    // SAFETY: the calls take numbers, and no list.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()), 0);
        assert_eq!(libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY), 0);
        assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
    }
}

/// Sends what a PE has sent, and waits for an answer to each part: all that comes back.
fn replay(to: SocketAddrV4, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("it may be set");
    let (mut came, mut bytes) = (Vec::new(), [0; 1024]);
    for part in parts {
        let _ = stream.write_all(part);
        if let Ok(n) = stream.read(&mut bytes) {
            came.extend_from_slice(&bytes[..n]);
        }
    }
    // It is closed, or nothing more comes.
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        came.extend_from_slice(&bytes[..n]);
    }
    came
}

/// What a thread of another user can open of a process: nothing.
fn assert_shut(pid: u32) {
    for file in ["mem", "environ", "fd", "map_files", "maps", "fd/0", "task"] {
        let path = format!("/proc/{pid}/{file}");
        let opened = match fs::metadata(&path).map(|it| it.is_dir()) {
            Ok(true) => fs::read_dir(&path).map(drop),
            _ => fs::File::open(&path).map(drop),
        };
        // Everybody sees how many threads there are.
        let denied = opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        assert!(denied || file == "task", "{path} can be opened");
    }
    // SAFETY: it takes a number, and makes a descriptor.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    assert!(process >= 0, "everybody may wait for a process");
    for number in 0..30 {
        // SAFETY: as above.
        let got = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process, number, 0) };
        assert!(got < 0, "descriptor {number} of {pid} can be had");
    }
    // SAFETY: the descriptor is this function's.
    drop(unsafe { OwnedFd::from_raw_fd(process as i32) });
}

#[test]
fn another_user_of_the_machine_gets_nothing_of_a_job_and_does_it_no_harm() {
    let _limit = time_limit(60);
    let test = test_name!();
    let is_pe = std::env::var_os("OXSHMEM_TEST_BODY").is_some();
    if !is_pe && std::env::var("SHMEM_NET").is_ok_and(|net| net == "ucx") {
        println!("skipped: UCX believes every process that connects to it");
        return;
    }
    // SAFETY: it asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can be another user");
        return;
    }
    let tap = if is_pe { None } else { wiretap() };
    if tap.is_none() && !is_pe {
        return;
    }
    let (beginnings, over) = (Beginnings::default(), AtomicBool::new(false));
    let before = shared_names();
    std::thread::scope(|scope| {
        if let Some(tap) = &tap {
            scope.spawn(|| record(tap, &beginnings, &over));
        }
        let job = Job::new(test, 2).under(Launcher::Oshrun).hosts("2");
        let running = job.start(works);
        let addresses = await_listening(&running, 2);
        let pids = [running.pes(2), vec![running.launcher()]].concat();
        let until = Instant::now() + Duration::from_secs(3);
        let proof = loop {
            let found = beginnings.lock().unwrap_or_else(PoisonError::into_inner);
            let mut found = found.iter().filter(|((_, to), parts)| {
                parts.len() == 2 && addresses.iter().any(|address| address.port() == *to)
            });
            if let Some(((_, to), parts)) = found.next() {
                break (*to, parts.clone());
            }
            assert!(Instant::now() < until, "no connection between the PEs was seen");
            drop(found);
            std::thread::sleep(Duration::from_millis(5));
        };
        over.store(true, Relaxed);
        // No socket takes what others send or connect to, and no memory has a name.
        let sockets = sockets(&pids);
        let unix = fs::read_to_string("/proc/net/unix").expect("procfs");
        for row in unix.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>()) {
            // The kernel itself names sockets that report the sender of what they get.
            let [_, _, _, flags, kind, _, inode, _name, ..] = row[..] else { continue };
            let (listens, is_datagram) = (flags == "00010000", kind == "0002");
            assert!(!sockets.contains(inode) || !(listens || is_datagram), "another can reach {row:?}");
        }
        assert_nothing_left(&before);
        scope.spawn(move || {
            become_nobody();
            pids.iter().for_each(|&pid| assert_shut(pid));
            for &address in &addresses {
                send(address, &[0xa5; 4096]);
                let [first, third] = &proof.1[..] else { unreachable!("there are two") };
                // The answer to a number, which is new each time, and no more.
                let answer = replay(address, std::slice::from_ref(first));
                let came = replay(address, &[first.clone(), third.clone()]);
                assert!(came.len() == answer.len() && came != answer, "{address}: {came:?}");
                // Its own answer sent back to it.
                let came = replay(address, &[first.clone(), came]);
                assert_eq!(came.len(), answer.len(), "{address} answers its own answer");
            }
        });
        let ended = running.end();
        assert_eq!(ended.status, 0, "{ended:?}");
        assert_eq!(ended.stdout.matches("is well").count(), 2, "{ended:?}");
        assert_eq!(ended.stderr.matches("refuses connections of a process").count(), 2, "{ended:?}");
        println!("{}", ended.stderr);
    });
}
