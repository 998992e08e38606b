//! `oshc++`, the C++ compiler for OpenSHMEM programs. `build.rs` gives it that name.

fn main() -> std::process::ExitCode {
    oxshmem_launch::oshcc::main(oxshmem_launch::oshcc::Language::Cxx)
}
