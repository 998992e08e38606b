//! What must not compile, each with the compiler's words beside it in `tests/ui/`.

#[test]
#[ignore = "it compiles everything anew: cargo verify --full, or cargo test -p oxshmem --test source -- --ignored"]
fn misuse_of_contexts_buffers_and_symmetric_memory_does_not_compile() {
    if std::env::var_os("OXSHMEM_SANITIZED").is_some() {
        return eprintln!("not tested: sanitizers take a compiler that words its errors otherwise");
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
