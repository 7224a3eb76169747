//! The newer algorithm of Camel's file repository: a few IDs in memory, and for each ID that is not
//! among them the whole file is searched before it is appended.
//!
//! One file for each address, one ID a line. The file may have 1,000 lines more than the window;
//! then the 1,000 oldest are cut off by writing a new file. Only the last n lines are searched, so
//! that the answers are exact, which Camel's are not.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memmem;

use crate::ids::Id;
use crate::peer::{Peer, Result, Session, Setup, Survives};
use crate::peers::camel_rewrite::{LINE_BYTES, open_file, push_line, replace};
use crate::window::Window;

/// As many IDs are in memory, and as many oldest lines are cut off at once: Camel's defaults.
const CACHED: usize = 1_000;
const DROPPED: usize = 1_000;

/// The file is searched in pieces of this size, which stay in the processor's cache.
const PIECE_BYTES: usize = LINE_BYTES * 4_096;

struct Scanning {
    files: Vec<Mutex<LineFile>>,
}

struct LineFile {
    path: PathBuf,
    file: File,
    recent: Window,
    lines: usize,
    size: usize,
    is_synced: bool,
    piece: Vec<u8>,
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let mut files = Vec::new();
    for (address, size) in setup.windows.iter().enumerate() {
        let path = setup.directory.join(format!("address-{address}"));
        let file = open_file(&path)?;
        let lines = file.metadata()?.len() as usize / LINE_BYTES;
        let mut recent = Window::new(CACHED.min(*size));
        let mut line = [0; 36];
        for index in lines.saturating_sub(CACHED.min(*size))..lines {
            file.read_exact_at(&mut line, (index * LINE_BYTES) as u64)?;
            recent.add(&line);
        }
        files.push(Mutex::new(LineFile {
            path,
            file,
            recent,
            lines,
            size: *size,
            is_synced: setup.survives == Survives::Power,
            piece: vec![0; PIECE_BYTES],
        }));
    }
    Ok(Box::new(Scanning { files }))
}

impl LineFile {
    fn contains(&mut self, id: &Id) -> Result<bool> {
        if self.recent.contains(id) {
            return Ok(true);
        }
        let finder = memmem::Finder::new(id);
        let end = self.lines * LINE_BYTES;
        let mut begin = self.lines.saturating_sub(self.size) * LINE_BYTES;
        while begin < end {
            let piece = &mut self.piece[..PIECE_BYTES.min(end - begin)];
            self.file.read_exact_at(piece, begin as u64)?;
            if finder.find(piece).is_some() {
                return Ok(true);
            }
            begin += piece.len();
        }
        Ok(false)
    }

    fn append(&mut self, ids: &[Id]) -> Result<()> {
        let mut bytes = Vec::with_capacity(ids.len() * LINE_BYTES);
        for id in ids {
            self.recent.add(id);
            push_line(&mut bytes, id);
        }
        let end = (self.lines * LINE_BYTES) as u64;
        self.file.write_all_at(&bytes, end)?;
        self.lines += ids.len();
        if self.lines >= self.size + DROPPED {
            let mut kept = vec![0; self.size * LINE_BYTES];
            let begin = (self.lines - self.size) * LINE_BYTES;
            self.file.read_exact_at(&mut kept, begin as u64)?;
            self.file = replace(&self.path, &kept)?;
            self.lines = self.size;
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        if self.is_synced {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

impl Peer for Scanning {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ScanningSession { peer: self }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct ScanningSession<'a> {
    peer: &'a Scanning,
}

impl ScanningSession<'_> {
    fn file(&self, address: usize) -> MutexGuard<'_, LineFile> {
        let file = self.peer.files[address].lock();
        file.unwrap_or_else(PoisonError::into_inner)
    }

    fn sync_all(&self) -> Result<()> {
        (0..self.peer.files.len()).try_for_each(|address| self.file(address).sync())
    }
}

impl Session for ScanningSession<'_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let mut file = self.file(address);
        if file.contains(id)? {
            return Ok(false);
        }
        file.append(&[*id])?;
        file.sync()?;
        Ok(true)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        for (address, id) in adds {
            let mut file = self.file(*address);
            let is_new = !file.contains(id)?;
            if is_new {
                file.append(&[*id])?;
            }
            new.push(is_new);
        }
        self.sync_all()
    }

    fn fill(&mut self, adds: &[(usize, Id)]) -> Result<()> {
        let mut ids = vec![Vec::new(); self.peer.files.len()];
        for (address, id) in adds {
            ids[*address].push(*id);
        }
        for (address, ids) in ids.iter().enumerate() {
            self.file(address).append(ids)?;
        }
        self.sync_all()
    }
}
