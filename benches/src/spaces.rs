//! What it costs to choose among spaces: words put to host memory in jobs that have a heap and
//! nothing else, and in jobs that have a GPU space and partitions too.
//!
//! A process has one C library, and that has one job. So each measurement is a job of its own, some
//! milliseconds long, and jobs of the two kinds take turns.

use std::{
    ffi::{CStr, CString, c_int, c_long, c_void},
    hint::black_box,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use oxshmem::World;

use crate::{
    Outcome,
    report::{Report, Row, median},
};

/// Which of the interfaces a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Interface {
    C,
    Rust,
}

/// What makes a job have spaces and partitions.
const SPACES: [(&str, &str); 5] = [
    ("SHMEM_ENABLE_CPU_SPACE", "1"),
    ("SHMEM_ENABLE_GPU_SPACE", "1"),
    ("SHMEM_GPU_EMULATE", "1"),
    ("SMAX_SYMMETRIC_PARTITION1", "size=16M"),
    (SECOND, "size=16M"),
];
/// Where this is set, words are in the second partition.
const SECOND: &str = "SMAX_SYMMETRIC_PARTITION2";

/// How many puts a sample has, samples a job, and words there are to put to.
const REPEAT: usize = 100_000;
const SAMPLES: usize = 9;
const WORDS: usize = 1024;

/// The figures of jobs with spaces beside those of jobs without, which take turns.
pub(crate) fn spaces(report: &mut Report) -> Outcome {
    for interface in [Interface::C, Interface::Rust] {
        if interface == Interface::C && library().is_none() {
            eprintln!("shmem-perf: no rows of the C library: libshmem.so is not beside it");
            continue;
        }
        let mut figures: Vec<(String, [Vec<f64>; 2])> = Vec::new();
        for round in 0..report.rounds + 1 {
            for with in [0, 1] {
                let job = job(interface, with == 1)?;
                for (name, value) in job.lines().filter_map(|line| line.split_once(' ')) {
                    if !figures.iter().any(|(known, _)| known == name) {
                        figures.push((name.to_owned(), Default::default()));
                    }
                    let (_, values) = figures.iter_mut().find(|(known, _)| known == name).ok_or("a name")?;
                    // The first ones warm up.
                    if round > 0 {
                        values[with].push(value.parse()?);
                    }
                }
            }
        }
        for (name, [mut without, mut with]) in figures {
            report.push(Row {
                name,
                bytes: 8,
                pes: 2,
                value: median(&mut with),
                unit: "ns",
                reference: median(&mut without),
                placement: "",
            });
        }
    }
    Ok(())
}

/// Runs a job, and returns what it prints: names and times.
fn job(interface: Interface, with_spaces: bool) -> Outcome<String> {
    let own = std::env::current_exe()?;
    let mut command = Command::new(own.with_file_name("oshrun"));
    command.args(["-np", "2", "--bind-to", "core", "--timeout", "60", "--"]).arg(&own);
    command.args(["--word-puts", if interface == Interface::C { "c" } else { "rust" }]);
    for (name, value) in SPACES {
        if with_spaces {
            command.env(name, value)
        } else {
            command.env_remove(name)
        };
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into())
}

/// One of the jobs: PE 0 puts to PE 1, and prints what it took.
pub(crate) fn word_puts(interface: Interface) -> Outcome {
    match interface {
        Interface::C => by_c(),
        Interface::Rust => {
            let world: World = futures::executor::block_on(oxshmem::init())?;
            world.block_on(by_rust(&world))?;
            Ok(world.block_on(world.finalize())?)
        }
    }
}

/// Prints the median of some samples of a loop, in ns for each turn.
macro_rules! measure {
    ($name:literal, |$i:ident| $put:expr, $quiet:expr) => {{
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            let start = Instant::now();
            for $i in 0..REPEAT {
                $put;
            }
            $quiet;
            samples.push(start.elapsed().as_nanos() as f64 / REPEAT as f64);
        }
        println!("{} {}", $name, median(&mut samples));
    }};
}

async fn by_rust(world: &World) -> Outcome {
    let second = std::env::var_os(SECOND).is_some();
    let words = world.partition(if second { 2 } else { 1 })?.alloc_zeroed::<u64>(WORDS).await?;
    let ctx = world.context();
    let source = [7u64];
    if world.my_pe() == 0 {
        measure!("p", |i| ctx.p(words.at(i % WORDS), i as u64, 1).await?, ctx.quiet().await?);
        measure!("put", |i| ctx.put(words.at(i % WORDS), &source[..], 1).await?, ctx.quiet().await?);
        measure!("put_nbi", |i| ctx.put_nbi(words.at(i % WORDS), &source[..], 1).await?, ctx.quiet().await?);
    }
    world.barrier_all().await?;
    Ok(())
}

/// `libshmem.so`, beside this program or where it is installed.
fn library() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_owned();
    let places = [folder.join("libshmem.so"), folder.join("../lib/libshmem.so")];
    places.into_iter().find(|place| place.exists())
}

/// The C library, loaded and never unloaded.
struct Library(*mut c_void);

impl Library {
    fn load(path: &Path) -> Outcome<Self> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: a C string. What the library does when it is loaded is our own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            Err(format!("cannot load {}", path.display()).into())
        } else {
            Ok(Self(handle))
        }
    }

    /// A routine of the library.
    ///
    /// # Safety
    /// `F` must be the type of the C function of that name.
    unsafe fn routine<F: Copy>(&self, name: &CStr) -> Outcome<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the handle is of a library that stays loaded.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            return Err(format!("libshmem.so has no {name:?}").into());
        }
        // SAFETY: the address of a function of type `F`, as the caller says.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }
}

fn by_c() -> Outcome {
    let library = Library::load(&library().ok_or("libshmem.so is not beside this program")?)?;
    // SAFETY: the types are those of `shmem.h` and `shmemx.h`.
    let (init, finalize, barrier, quiet, my_pe, malloc, kind_malloc, p, put, put_nbi) = unsafe {
        (
            library.routine::<extern "C" fn()>(c"shmem_init")?,
            library.routine::<extern "C" fn()>(c"shmem_finalize")?,
            library.routine::<extern "C" fn()>(c"shmem_barrier_all")?,
            library.routine::<extern "C" fn()>(c"shmem_quiet")?,
            library.routine::<extern "C" fn() -> c_int>(c"shmem_my_pe")?,
            library.routine::<extern "C" fn(usize) -> *mut c_long>(c"shmem_malloc")?,
            library.routine::<extern "C" fn(usize, c_int) -> *mut c_long>(c"shmemx_kind_malloc")?,
            library.routine::<extern "C" fn(*mut c_long, c_long, c_int)>(c"shmem_long_p")?,
            library.routine::<extern "C" fn(*mut c_long, *const c_long, usize, c_int)>(c"shmem_long_put")?,
            library
                .routine::<extern "C" fn(*mut c_long, *const c_long, usize, c_int)>(c"shmem_putmem_nbi")?,
        )
    };
    init();
    let bytes = WORDS * size_of::<c_long>();
    let words = if std::env::var_os(SECOND).is_some() { kind_malloc(bytes, 2) } else { malloc(bytes) };
    if words.is_null() {
        return Err("there is no room for the words".into());
    }
    let value: c_long = 7;
    let source = black_box(&raw const value);
    let at = |i: usize| words.wrapping_add(i % WORDS);
    if my_pe() == 0 {
        measure!("shmem_long_p", |i| p(at(i), i as c_long, 1), quiet());
        measure!("shmem_long_put", |i| put(at(i), source, 1, 1), quiet());
        measure!("shmem_putmem_nbi", |i| put_nbi(at(i), source, 8, 1), quiet());
    }
    barrier();
    finalize();
    Ok(())
}
