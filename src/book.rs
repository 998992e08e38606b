//! The book and the README, so that rustdoc runs their snippets as doctests.

macro_rules! pages {
    ($($(#[$when:meta])* $name:ident = $path:literal;)*) => {$(
        $(#[$when])*
        #[doc = include_str!($path)]
        mod $name {}
    )*};
}

pages! {
    readme = "../README.md";
    introduction = "../book/src/introduction.md";
    quickstart = "../book/src/quickstart.md";
    model = "../book/src/model.md";
    r#async = "../book/src/async.md";
    overlap = "../book/src/overlap.md";
    memory = "../book/src/memory.md";
    kinds = "../book/src/kinds.md";
    waiting = "../book/src/waiting.md";
    teams = "../book/src/teams.md";
    collectives = "../book/src/collectives.md";
    locks = "../book/src/locks.md";
    spaces = "../book/src/spaces.md";
    gpu = "../book/src/gpu.md";
    jobs = "../book/src/jobs.md";
    losses = "../book/src/losses.md";
    diagnosis = "../book/src/diagnosis.md";
    #[cfg(feature = "metrics")]
    metrics = "../book/src/metrics.md";
    #[cfg(feature = "collections")]
    collections = "../book/src/collections.md";
    settings = "../book/src/settings.md";
    tuning = "../book/src/tuning.md";
    design = "../book/src/design.md";
}
