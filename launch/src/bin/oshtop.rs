//! `oshtop`: see `oxshmem_launch::oshtop`.

fn main() -> std::process::ExitCode {
    oxshmem_launch::oshtop::main()
}
