//! `oshcc`, the C compiler for OpenSHMEM programs.

fn main() -> std::process::ExitCode {
    oxshmem_launch::oshcc::main(oxshmem_launch::oshcc::Language::C)
}
