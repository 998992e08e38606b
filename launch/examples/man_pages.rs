//! Writes the man pages of the tools into a folder: what `cargo xtask install` runs.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = env::args_os().nth(1).ok_or("usage: man_pages FOLDER")?.into();
    fs::create_dir_all(&folder)?;
    for (name, text) in oxshmem_launch::man::pages() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
