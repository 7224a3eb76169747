//! The older algorithm of Camel's file repository: IDs are appended to a file, one a line, until it
//! has its greatest size; then each add writes the whole window to it.
//!
//! One file for each address, its window in memory. With `slack` the file may hold that many times
//! the window, so that a rewrite comes only once in so many adds; Camel has no such setting by
//! itself, but two numbers that can be set so.
//!
//! Unsynced it overwrites in place, as Camel does: a kill may tear the file. Synced it writes a new
//! file, syncs and renames it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ids::Id;
use crate::peer::{Peer, Result, Session, Setup, Survives};
use crate::window::Window;

/// An ID and the end of its line.
pub const LINE_BYTES: usize = 37;

struct Rewriting {
    files: Vec<Mutex<LineFile>>,
}

struct LineFile {
    path: PathBuf,
    file: File,
    window: Window,
    lines: usize,
    lines_max: usize,
    is_synced: bool,
    buffer: Vec<u8>,
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_with(setup, 1)
}

pub fn open_with_slack(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_with(setup, 2)
}

fn open_with(setup: &Setup, slack: usize) -> Result<Box<dyn Peer>> {
    let mut files = Vec::new();
    for (address, size) in setup.windows.iter().enumerate() {
        let path = setup.directory.join(format!("address-{address}"));
        let mut file = open_file(&path)?;
        let mut window = Window::new(*size);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        for line in bytes.chunks_exact(LINE_BYTES) {
            window.add(line[..36].try_into()?);
        }
        files.push(Mutex::new(LineFile {
            path,
            file,
            window,
            lines: bytes.len() / LINE_BYTES,
            lines_max: size * slack,
            is_synced: setup.survives == Survives::Power,
            buffer: Vec::new(),
        }));
    }
    Ok(Box::new(Rewriting { files }))
}

/// Opens a file to read and write, and makes it if it is not there.
pub fn open_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    Ok(options.open(path)?)
}

/// Puts a file with these bytes in the place of another, so that a power cut shows one of the two.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<File> {
    let new = path.with_extension("new");
    let file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .read(true)
        .write(true)
        .open(&new)?;
    file.write_all_at(bytes, 0)?;
    file.sync_data()?;
    std::fs::rename(&new, path)?;
    File::open(path.parent().ok_or("a file has no directory")?)?.sync_all()?;
    Ok(file)
}

/// Adds a line to a buffer.
pub fn push_line(buffer: &mut Vec<u8>, id: &Id) {
    buffer.extend_from_slice(id);
    buffer.push(b'\n');
}

impl LineFile {
    /// Brings the IDs, which the window has already, into the file.
    fn write(&mut self, ids: &[Id]) -> Result<()> {
        self.buffer.clear();
        if self.lines + ids.len() <= self.lines_max {
            ids.iter().for_each(|id| push_line(&mut self.buffer, id));
            let end = (self.lines * LINE_BYTES) as u64;
            self.file.write_all_at(&self.buffer, end)?;
            self.lines += ids.len();
            if self.is_synced {
                self.file.sync_data()?;
            }
            return Ok(());
        }
        let (older, newer) = self.window.parts();
        for id in older.iter().chain(newer) {
            push_line(&mut self.buffer, id);
        }
        self.lines = older.len() + newer.len();
        if self.is_synced {
            self.file = replace(&self.path, &self.buffer)?;
        } else {
            self.file.write_all_at(&self.buffer, 0)?;
            self.file.set_len(self.buffer.len() as u64)?;
        }
        Ok(())
    }
}

impl Peer for Rewriting {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RewritingSession { peer: self }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct RewritingSession<'a> {
    peer: &'a Rewriting,
}

impl RewritingSession<'_> {
    fn file(&self, address: usize) -> MutexGuard<'_, LineFile> {
        let file = self.peer.files[address].lock();
        file.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session for RewritingSession<'_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let mut file = self.file(address);
        if file.window.add(id).is_none() {
            return Ok(false);
        }
        file.write(&[*id])?;
        Ok(true)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        let mut ids = vec![Vec::new(); self.peer.files.len()];
        for (address, id) in adds {
            let is_new = self.file(*address).window.add(id).is_some();
            if is_new {
                ids[*address].push(*id);
            }
            new.push(is_new);
        }
        for (address, ids) in ids.iter().enumerate() {
            if !ids.is_empty() {
                self.file(address).write(ids)?;
            }
        }
        Ok(())
    }
}
