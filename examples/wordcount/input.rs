//! The files, and how PEs share them: all bytes in one row, of which each PE has an equal part.
//!
//! A part begins and ends where a word does. Both PEs at a boundary move it in the same way, so
//! that every word is in exactly one part, even if one file is divided among all PEs.

use std::{
    error::Error,
    ffi::OsStr,
    fs::{self, File},
    io::ErrorKind,
    ops::Range,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::{Path, PathBuf},
};

/// Bytes that are read at once.
const BLOCK: u64 = 1 << 20;
/// Bytes that are read to find the end of a word.
const PEEK: usize = 256;

/// The files of a job with their lengths, equal on all PEs.
#[derive(Debug)]
pub(crate) struct Plan {
    files: Vec<(PathBuf, u64)>,
}

impl Plan {
    /// The files that are meant by `paths`.
    pub(crate) fn of(paths: &[PathBuf]) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        if paths.is_empty() {
            let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
            add_folder(if repository.is_dir() { repository } else { Path::new(".") }, &mut files)?;
        }
        for path in paths {
            let about = fs::metadata(path).map_err(|error| named(path, error))?;
            if about.is_dir() {
                add_folder(path, &mut files)?;
            } else if about.is_file() {
                files.push((path.clone(), about.len()));
            } else {
                return Err(format!("{}: only files and folders can be counted", path.display()).into());
            }
        }
        Ok(Self { files })
    }

    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, len)| len).sum()
    }

    /// The plan as bytes for other PEs: a length and a path a file, each path ended by a 0, which
    /// no path has.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let file =
            |(path, len): &(PathBuf, u64)| [&len.to_le_bytes(), path.as_os_str().as_bytes(), &[0]].concat();
        self.files.iter().flat_map(file).collect()
    }

    /// What [`encode`](Self::encode) made.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let end = rest.iter().position(|&byte| byte == 0).ok_or("PE 0 sent half a list of files")?;
            files.push((OsStr::from_bytes(&rest[..end]).into(), u64::from_le_bytes(*len)));
            bytes = &rest[end + 1..];
        }
        Ok(Self { files })
    }

    /// Gives the text of part `part` of `parts` to `each`, block by block, this many times.
    pub(crate) async fn each_block(
        &self,
        part: usize,
        parts: usize,
        times: usize,
        mut each: impl AsyncFnMut(&str) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let share = |part: usize| (u128::from(self.bytes()) * part as u128 / parts as u128) as u64;
        let share = share(part)..share(part + 1);
        for _ in 0..times {
            let mut offset = 0;
            for (path, len) in &self.files {
                let within = |at: u64| at.clamp(offset, offset + len) - offset;
                let range = within(share.start)..within(share.end);
                offset += len;
                blocks(path, *len, range, &mut each).await?;
            }
        }
        Ok(())
    }
}

/// Gives the text of a part of a file to `each`, block by block.
async fn blocks(
    path: &Path,
    len: u64,
    part: Range<u64>,
    each: &mut impl AsyncFnMut(&str) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    if part.is_empty() {
        return Ok(());
    }
    let named = |error| named(path, error);
    let file = File::open(path).map_err(named)?;
    let end = cut(&file, part.end, len).map_err(named)?;
    let mut at = cut(&file, part.start, len).map_err(named)?;
    while at < end {
        let block = at..cut(&file, (at + BLOCK).min(end), len).map_err(named)?;
        at = block.end;
        each(&read(&file, block).map_err(named)?).await?;
    }
    Ok(())
}

/// The words of `text`: letters, digits and underscores of any script.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The first place from `at` on where no word, and no character, is divided: before a byte that is
/// surely between words. What is not UTF-8 does not matter here, because an ASCII byte is never
/// part of a longer character.
fn cut(file: &File, at: u64, len: u64) -> std::io::Result<u64> {
    if at == 0 {
        return Ok(0);
    }
    let (mut at, mut bytes) = (at, [0; PEEK]);
    while at < len {
        let read = file.read_at(&mut bytes, at)?;
        if read == 0 {
            return Err(shrunk());
        }
        let separates = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
        if let Some(found) = bytes[..read].iter().position(separates) {
            return Ok((at + found as u64).min(len));
        }
        at += read as u64;
    }
    Ok(len)
}

/// The text in `block`. Bytes that are not UTF-8 are between words.
fn read(file: &File, block: Range<u64>) -> std::io::Result<String> {
    let mut bytes = vec![0; (block.end - block.start) as usize];
    file.read_exact_at(&mut bytes, block.start).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => shrunk(),
        _ => error,
    })?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn shrunk() -> std::io::Error {
    std::io::Error::new(ErrorKind::UnexpectedEof, "the file became shorter while it was being counted")
}

/// Adds the text files below `folder`, in the order of their names.
fn add_folder(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> Result<(), Box<dyn Error>> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = entries.map_err(|error| named(folder, error))?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        // Links are left out: they could lead around in a circle.
        let about = entry.metadata().map_err(|error| named(&path, error))?;
        let is_text =
            path.extension().is_some_and(|it| ["rs", "md", "toml", "txt"].iter().any(|text| it == *text));
        if about.is_dir() && name != "target" && name != ".git" {
            add_folder(&path, files)?;
        } else if about.is_file() && is_text {
            files.push((path, about.len()));
        }
    }
    Ok(())
}

fn named(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
