//! The project's own commands: what a developer or CI runs beyond plain cargo.
//!
//! | module | what it offers |
//! |---|---|
//! | [`verify`] | everything that must hold before a change goes in |
//! | [`programs`] | the examples |
//! | [`dist`] | the tarball and the package for Debian, and the check of both in fresh systems |
//! | [`install`] | the installation, and the check that it works wherever it is |
//! | [`checks`] | miri, loom, AddressSanitizer, simulated hosts and losses, many repetitions |
//! | [`fuzz`] | changed input for what parses the messages of other processes |
//! | [`aarch64`] | clippy and tests for the other processor |
//! | [`compare`] | our collectives beside Open MPI's |
//! | [`scale`] | collectives on many hosts, simulated |
//! | [`device`] | what runs on a machine with a device, in one folder, and its report |
//! | [`gpu`] | the check of the kernels for devices |
//! | [`cuda`] | CUDA programs, and a compiler for them |
//! | [`cuda_venv`] | NVIDIA's compiler, from PyPI |
//! | [`bindings`] | the committed bindings of UCX and PMIx, from installed headers |
//! | [`headers`] | the C headers and the map from C to Rust, from the table of the C API |
//! | [`book`] | the book: its links, its table of settings, its pages |
//! | [`rooms`] | which package and module uses which, and how files are written |
//! | [`picture`] | the book's picture of the progress engine |
//! | [`timeline`] | the picture of a timeline, of a job that it records |
//! | [`package`] | that all packages can be published |
//! | [`shmem4py`] | the Python bindings, with an installation |
//! | [`oldest`] | the oldest compiler |
//! | [`debian`] | packages that other commands need |
//! | [`run`] | commands with time limits, and steps with verdicts |

mod aarch64;
mod bindings;
mod book;
mod checks;
mod compare;
mod cuda;
mod cuda_venv;
mod debian;
mod device;
mod dist;
mod fuzz;
mod gpu;
mod headers;
mod install;
mod named;
mod oldest;
mod package;
mod picture;
mod programs;
mod rooms;
mod run;
mod scale;
mod shmem4py;
mod timeline;
mod verify;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The project's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Formatting, clippy, the book, all tests, the examples
    Verify {
        /// Then the documentation, other processors and compilers, several hosts, fuzzing, loom,
        /// miri, and what users install
        #[arg(long)]
        full: bool,
        /// Goes on after a step that failed, and lists what failed at the end
        #[arg(long)]
        keep_going: bool,
        /// Only these steps; `list` names them
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Runs every example on 1, 2, 4 and 7 PEs
    Examples {
        /// Only these
        names: Vec<String>,
    },
    /// Repeats the tests that start several PEs, with 16 of them, to find what fails now and then
    Soak {
        /// How often
        #[arg(default_value_t = 10)]
        times: usize,
        /// How many PEs a test starts where it lets the environment decide
        #[arg(long, default_value_t = 16)]
        pes: usize,
    },
    /// Runs all tests of several PEs again with the PEs on two simulated hosts, distributed in
    /// blocks and in turn
    Hosts,
    /// Makes many random collectives on random teams of 8 PEs, and compares each with a sequential
    /// model
    SoakCollectives {
        /// How many
        #[arg(default_value_t = 200_000)]
        count: usize,
    },
    /// Plays jobs that lose PEs, in virtual time on one thread, each as its seed decides
    Simulate {
        /// How many
        #[arg(long, default_value_t = 2000)]
        seeds: u64,
        /// The first seed
        #[arg(long, default_value_t = 0)]
        from: u64,
    },
    /// Runs the unit tests and the tests in a LocalCluster under AddressSanitizer
    Sanitize {
        /// Under ThreadSanitizer instead, with a nightly compiler
        #[arg(long)]
        threads: bool,
    },
    /// Gives every parser of what another process sends real input that was changed
    Fuzz {
        /// For how long, each parser
        #[arg(default_value_t = 5)]
        seconds: u64,
    },
    /// Runs the tests as programs for aarch64, in qemu, which it installs on Debian
    Aarch64 {
        /// Arguments of `cargo test`, to run only some of them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        chosen: Vec<String>,
    },
    /// Measures collectives and the C library beside Open MPI's, which it installs on Debian, and
    /// writes the chapters about them
    Compare {
        /// Takes minutes, is noisy, and writes no chapter
        #[arg(long)]
        quick: bool,
        /// With this many PEs
        #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8])]
        pes: Vec<usize>,
        /// Only the C library, or only the collectives
        #[arg(long, value_enum)]
        only: Option<compare::Part>,
        /// Measures each algorithm of the collectives beside the next simpler one instead
        #[arg(long)]
        variants: bool,
    },
    /// Simulates collectives of up to 4,096 PEs on many hosts, and writes the tables and charts of
    /// the chapter about scale
    Scale {
        /// Simulates only what is not there from an earlier run
        #[arg(long)]
        reuse: bool,
    },
    /// Packs all that is to run on a machine with a device, or writes what came back into the book
    #[command(group = clap::ArgGroup::new("what").args(["pack", "report"]).required(true))]
    Device {
        /// Makes target/device; on that machine its run.sh runs all of it, and here with
        /// --emulated
        #[arg(long)]
        pack: bool,
        /// CUDA programs to be compiled and run besides
        #[arg(long, value_name = "FILE", requires = "pack")]
        with: Vec<PathBuf>,
        /// The report that came back
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// Has NVIDIA's assembler check the kernels, if it is installed
    Ptx,
    /// Compiles the CUDA programs; installs the compiler in the target folder if it is missing
    Cuda,
    /// Checks the book and builds it to target/book; installs mdbook if it is missing
    Book,
    /// Writes the table of settings into the book
    Settings,
    /// Draws the design notes' picture of the progress engine
    Picture,
    /// Records a job and makes the book's picture of its timeline, with Chromium
    Timeline,
    /// Writes the bindings of UCX and PMIx from the headers that are installed, with bindgen
    Bindings,
    /// Writes the C headers and the book's map from C to Rust
    Headers {
        /// Writes nothing, and fails if one of them is not what it would be
        #[arg(long)]
        check: bool,
    },
    /// Prints the packages with their lines and which uses which, and fails where that is not as
    /// the design notes say
    Rooms {
        /// Reads the words of these files and folders instead, also where they are not checked yet
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
    },
    /// Builds in release and installs programs, libraries, headers and man pages
    Install {
        /// Where to
        #[arg(long, value_name = "PREFIX")]
        prefix: PathBuf,
        /// Builds quickly, for tests
        #[arg(long)]
        debug: bool,
    },
    /// Builds shmem4py, the Python bindings, with a debug build, and runs their tests
    Shmem4py,
    /// Makes the tarball and the package for Debian, with programs for older C libraries
    Dist {
        /// Tries them in fresh Debian systems, which debootstrap makes
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    run::end_children_on_signals();
    if let Err(error) = run::enter_repository() {
        eprintln!("xtask: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match Arguments::parse().command {
        Task::Verify { full, keep_going, only } => verify::verify(full, keep_going, &only),
        Task::Examples { names } => programs::examples(&names),
        Task::Soak { times, pes } => checks::soak(times, pes),
        Task::Hosts => checks::hosts(true),
        Task::SoakCollectives { count } => checks::soak_collectives(count),
        Task::Simulate { seeds, from } => checks::simulate(seeds, from),
        Task::Sanitize { threads } => checks::sanitize(threads),
        Task::Fuzz { seconds } => fuzz::fuzz(seconds),
        Task::Aarch64 { chosen } => aarch64::test(&chosen),
        Task::Compare { quick, pes, only, variants } => compare::compare(quick, &pes, only, variants),
        Task::Scale { reuse } => scale::scale(reuse),
        Task::Device { report: Some(report), .. } => device::write_pages(&report),
        Task::Device { with, .. } => device::pack(&with),
        Task::Ptx => gpu::ptx(),
        Task::Cuda => cuda::check(),
        Task::Book => book::build(true),
        Task::Settings => book::write_settings(),
        Task::Picture => picture::picture(),
        Task::Timeline => timeline::timeline(),
        Task::Bindings => bindings::bindings(),
        Task::Headers { check } => headers::headers(check),
        Task::Rooms { folders } if folders.is_empty() => rooms::rooms(),
        Task::Rooms { folders } => rooms::words_of(&folders),
        Task::Shmem4py => shmem4py::check(),
        Task::Dist { check } => dist::dist(check),
        Task::Install { prefix, debug } => install::install(&prefix, debug),
    };
    match outcome {
        Ok(run::Verdict::Passed) => ExitCode::SUCCESS,
        Ok(run::Verdict::Skipped(why)) => {
            eprintln!("xtask: skipped: {why}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.status)
        }
    }
}
