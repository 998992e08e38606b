//! The prototypes are those of the specification, for a sample that was written down from it by
//! hand.

mod support;

use std::fs;

use support::{Language, compile, folder};

#[test]
fn routines_have_the_types_that_the_specification_gives_them() {
    let folder = folder("prototypes");
    for (language, standards) in [(Language::C, ["c99", "c17"]), (Language::Cxx, ["c++11", "c++20"])] {
        let file = folder.join(format!("prototypes.{}", language.extension()));
        fs::write(&file, include_str!("programs/prototypes.c")).unwrap();
        for compiler in language.compilers() {
            for standard in standards {
                compile(compiler, standard, &file, &["-fsyntax-only"])
                    .unwrap_or_else(|fault| panic!("{fault}"));
            }
        }
    }
}
