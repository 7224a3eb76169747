//! What the key-value stores have in common, and so the two ways to keep windows in one of them.
//!
//! `ring`: the windows in memory, and in the store a ring of n places for each address, so that an
//! add overwrites one value. The quickest way found; it needs the memory of the windows.
//! `index`: all in the store, two keys for each ID (to find it, and to find the oldest) and two
//! deletes for each ID that falls out. It needs no memory but the store's own caches.

use std::path::Path;

use crate::peer::{Result, Survives};

/// A key or a value: short, and kept in place.
#[derive(Clone, Copy)]
pub struct Short {
    bytes: [u8; 48],
    length: u8,
}

impl Short {
    pub fn new(parts: &[&[u8]]) -> Short {
        let mut short = Short {
            bytes: [0; 48],
            length: 0,
        };
        for part in parts {
            let begin = usize::from(short.length);
            short.bytes[begin..begin + part.len()].copy_from_slice(part);
            short.length += part.len() as u8;
        }
        short
    }
}

impl AsRef<[u8]> for Short {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// One change of a store.
pub enum Change {
    Put(Short, Short),
    Delete(Short),
}

/// Called for each key and value.
pub type Each<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// A store of ordered keys.
pub trait Kv: Send + Sync + Sized {
    fn open(directory: &Path, survives: Survives) -> Result<Self>;

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Makes all changes or none, as durable as the store was opened for.
    fn write(&self, changes: &[Change]) -> Result<()>;

    fn scan(&self, each: Each<'_>) -> Result<()>;

    /// The greatest key below `end`.
    fn last_below(&self, end: &[u8]) -> Result<Option<Vec<u8>>>;

    fn close(self) -> Result<()>;
}

/// Four bytes of a slice, as a big-endian number.
pub fn number32(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..at + 4).ok_or("a key or value is short")?;
    Ok(u32::from_be_bytes(bytes.try_into()?))
}

/// Eight bytes of a slice, as a big-endian number.
pub fn number64(bytes: &[u8], at: usize) -> Result<u64> {
    let bytes = bytes.get(at..at + 8).ok_or("a key or value is short")?;
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
