//! A program's frame: joining the job, leaving it, and taking it down where the program fails.

use std::{env, ffi::OsStr, fmt, path::PathBuf, process::ExitCode};

use oxshmem_base::{Error, report};

use crate::{World, init};

/// Runs `program` as this process's PE: [`init`], the program, [`World::finalize`]. What `main`
/// returns.
///
/// An error goes to standard error, with the program's name and the PE's number. If the program has
/// failed, the job ends with [`World::global_exit`] and status 1, since the other PEs may wait for
/// this one. A program that fails because the job has failed elsewhere says nothing: the first
/// error is the cause. If that is a `global_exit`, its status is this process's.
///
/// `program` gets the world by reference; what it spawns can have clones. It may be an `async fn`:
///
/// ```
/// use std::process::ExitCode;
///
/// use oxshmem::prelude::*;
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> ExitCode {
///     oxshmem::run(greet).await
/// }
///
/// async fn greet(world: &World) -> oxshmem::Result<()> {
///     let greeted = world.alloc_zeroed::<u64>(1).await?;
///     world.context().inc(greeted.at(0), 0).await?;
///     if world.my_pe() == 0 {
///         greeted.at(0).wait_until(Cmp::Ge, world.n_pes() as u64).await?;
///     }
///     Ok(())
/// }
/// ```
///
/// or a closure that has the program's options:
///
/// ```
/// # use oxshmem::prelude::*;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::process::ExitCode {
/// let steps = std::env::args().len();
/// oxshmem::run(async |world| solve(world, steps).await).await
/// # }
/// # async fn solve(world: &World, _steps: usize) -> Result<(), Box<dyn std::error::Error>> {
/// #     world.barrier_all().await?;
/// #     Ok(())
/// # }
/// ```
pub async fn run<E: fmt::Display>(program: impl AsyncFnOnce(&World) -> Result<(), E>) -> ExitCode {
    let world = match init().await {
        Ok(world) => world,
        Err(error) => {
            say(format_args!("{error}"));
            return ExitCode::FAILURE;
        }
    };
    let outcome = program(&world).await.map_err(|error| error.to_string());
    let outcome = match outcome {
        // The program may have called it.
        Ok(()) if world.is_finalized() => return ExitCode::SUCCESS,
        Ok(()) => world.finalize().await.map_err(|error| error.to_string()),
        failed => failed,
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    if !world.is_finalized() {
        match world.pe().check("run") {
            // Without a launcher, each process has a status of its own.
            Err(Error::GlobalExit { status, .. }) => return ExitCode::from((status & 0xff) as u8),
            Err(_) => return ExitCode::FAILURE,
            Ok(()) => {}
        }
    }
    say(format_args!("PE {}: {error}", world.my_pe()));
    if !world.is_finalized() {
        // It returns only where it does not end the process.
        let _ = world.global_exit(1).await;
    }
    ExitCode::FAILURE
}

/// Writes a line with the program's name to standard error.
fn say(what: fmt::Arguments<'_>) {
    let path = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let name = path.file_name().unwrap_or(OsStr::new("oxshmem")).display();
    report(format_args!("{name}: {what}"));
}
