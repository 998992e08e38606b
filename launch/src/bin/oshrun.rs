//! `oshrun`, the launcher of oxshmem jobs on one host.

fn main() -> std::process::ExitCode {
    oxshmem_launch::oshrun::main()
}
