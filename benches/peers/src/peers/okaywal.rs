//! okaywal: a write-ahead log in Rust that shares its syncs among threads.
//!
//! Its documentation has a log in front of a storage layer, which takes over what a full segment
//! holds before that is used again. The layer here is the least that does it: for each address a
//! file of n places, each the ordinal and the ID of an add; taking over is writing to the places
//! and one `fdatasync`. The windows are in memory beside it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ::okaywal::{
    Configuration, Entry, EntryId, EntryWriter, LogManager, SegmentReader, WriteAheadLog,
};

use crate::ids::Id;
use crate::kv::{number32, number64};
use crate::peer::{Peer, Result, Session, Setup};
use crate::window::{Slots, Window};

/// A chunk of the log: address, ordinal, ID.
const CHUNK_BYTES: usize = 48;
/// A place of a file: ordinal plus one (none is there if zero), ID.
const PLACE_BYTES: usize = 44;

/// Larger segments than the default of 1 MB: fewer syncs of the files.
const SEGMENT_BYTES: u32 = 16 << 20;
const CHECKPOINT_BYTES: u64 = 14 << 20;

struct OkayWal {
    log: WriteAheadLog,
    windows: Vec<Mutex<Window>>,
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let files = (0..setup.windows.len()).map(|address| {
        let path = setup.directory.join(format!("places-{address}"));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        options.open(path)
    });
    let files = files.collect::<io::Result<Vec<File>>>()?;
    let mut slots = Vec::new();
    for (file, size) in files.iter().zip(&setup.windows) {
        slots.push(read_places(file, *size)?);
    }
    let recovered = Arc::new(Mutex::new(Vec::new()));
    let manager = Places {
        files,
        sizes: setup.windows.clone(),
        recovered: Arc::clone(&recovered),
    };
    let log = configuration(&setup.directory.join("log")).open(manager)?;
    let recovered = std::mem::take(&mut *recovered.lock().unwrap_or_else(PoisonError::into_inner));
    for add in recovered {
        let slots = slots.get_mut(add.address).ok_or("an address is unknown")?;
        slots.put(add.ordinal, add.id);
    }
    let windows = slots
        .into_iter()
        .map(|slots| Ok(Mutex::new(slots.into_window()?)));
    Ok(Box::new(OkayWal {
        log,
        windows: windows.collect::<Result<_>>()?,
    }))
}

fn configuration(directory: &Path) -> Configuration {
    Configuration::default_for(directory)
        .preallocate_bytes(SEGMENT_BYTES)
        .checkpoint_after_bytes(CHECKPOINT_BYTES)
}

fn read_places(file: &File, size: usize) -> Result<Slots> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let mut slots = Slots::new(size);
    for place in bytes.chunks_exact(PLACE_BYTES) {
        if let Some(ordinal) = number64(place, 0)?.checked_sub(1) {
            slots.put(ordinal, place[8..].try_into()?);
        }
    }
    Ok(slots)
}

/// One add, as the log has it.
#[derive(Clone, Copy, Debug)]
struct Add {
    address: usize,
    ordinal: u64,
    id: Id,
}

impl Add {
    fn to_chunk(self) -> [u8; CHUNK_BYTES] {
        let mut chunk = [0; CHUNK_BYTES];
        chunk[..4].copy_from_slice(&(self.address as u32).to_be_bytes());
        chunk[4..12].copy_from_slice(&self.ordinal.to_be_bytes());
        chunk[12..].copy_from_slice(&self.id);
        chunk
    }

    fn from_chunk(chunk: &[u8]) -> Result<Add> {
        Ok(Add {
            address: number32(chunk, 0)? as usize,
            ordinal: number64(chunk, 4)?,
            id: chunk.get(12..).ok_or("a chunk is short")?.try_into()?,
        })
    }
}

/// What takes over the segments that are full.
#[derive(Debug)]
struct Places {
    files: Vec<File>,
    sizes: Vec<usize>,
    recovered: Arc<Mutex<Vec<Add>>>,
}

fn adds_of(entry: &mut Entry<'_>, adds: &mut Vec<Add>) -> io::Result<()> {
    if let Some(chunks) = entry.read_all_chunks()? {
        for chunk in chunks {
            adds.push(Add::from_chunk(&chunk).map_err(io::Error::other)?);
        }
    }
    Ok(())
}

impl LogManager for Places {
    fn recover(&mut self, entry: &mut Entry<'_>) -> io::Result<()> {
        let recovered = self.recovered.lock();
        adds_of(
            entry,
            &mut recovered.unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn checkpoint_to(
        &mut self,
        _last: EntryId,
        segment: &mut SegmentReader,
        _log: &WriteAheadLog,
    ) -> io::Result<()> {
        let mut adds = Vec::new();
        while let Some(mut entry) = segment.read_entry()? {
            adds_of(&mut entry, &mut adds)?;
        }
        for (address, file) in self.files.iter().enumerate() {
            let own = adds.iter().filter(|add| add.address == address);
            let mut own: Vec<&Add> = own.collect();
            own.sort_unstable_by_key(|add| add.ordinal);
            let size = self.sizes[address];
            let forgotten = own.len().saturating_sub(size);
            write_places(file, &own[forgotten..], size)?;
        }
        Ok(())
    }
}

/// Writes adds in order of their ordinals, those that stand side by side in one call.
fn write_places(file: &File, adds: &[&Add], size: usize) -> io::Result<()> {
    if adds.is_empty() {
        return Ok(());
    }
    let place_of = |add: &Add| add.ordinal % size as u64;
    let is_beside = |one: &&Add, other: &&Add| place_of(other) == place_of(one) + 1;
    for run in adds.chunk_by(is_beside) {
        let mut bytes = Vec::with_capacity(run.len() * PLACE_BYTES);
        for add in run {
            bytes.extend_from_slice(&(add.ordinal + 1).to_be_bytes());
            bytes.extend_from_slice(&add.id);
        }
        file.write_all_at(&bytes, place_of(run[0]) * PLACE_BYTES as u64)?;
    }
    file.sync_data()
}

impl OkayWal {
    /// Writes a chunk if the ID is new. The entry is begun under the lock of the window, so that
    /// the log has the adds of an address in their order.
    fn write<'a>(
        &'a self,
        entry: &mut Option<EntryWriter<'a>>,
        address: usize,
        id: &Id,
    ) -> Result<bool> {
        let window = self.windows[address].lock();
        let mut window = window.unwrap_or_else(PoisonError::into_inner);
        let Some(ordinal) = window.add(id) else {
            return Ok(false);
        };
        let add = Add {
            address,
            ordinal,
            id: *id,
        };
        let writer = match entry {
            Some(writer) => writer,
            None => entry.insert(self.log.begin_entry()?),
        };
        writer.write_chunk(&add.to_chunk())?;
        Ok(true)
    }
}

impl Peer for OkayWal {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(OkayWalSession { peer: self }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.log.shutdown()?)
    }
}

struct OkayWalSession<'a> {
    peer: &'a OkayWal,
}

impl Session for OkayWalSession<'_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let mut entry = None;
        let is_new = self.peer.write(&mut entry, address, id)?;
        if let Some(entry) = entry {
            entry.commit()?;
        }
        Ok(is_new)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        let mut entry = None;
        for (address, id) in adds {
            new.push(self.peer.write(&mut entry, *address, id)?);
        }
        if let Some(entry) = entry {
            entry.commit()?;
        }
        Ok(())
    }
}
