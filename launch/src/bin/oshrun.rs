//! `oshrun`, the launcher of oxshmem jobs.

fn main() -> std::process::ExitCode {
    oxshmem_launch::oshrun::main()
}
