//! A directory in memory on a disk that runs out of space, as a `Storage`.
//!
//! Two disks: on one only growing files take space, as on tmpfs, ext4 and XFS; on the other writing
//! over what is there takes space too, as on btrfs and on thin volumes.

use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use idjournal::{MemoryStorage, Storage, StorageFile, StorageLock, Writes};

use super::killed;

/// See the head of this file.
#[derive(Clone, Default)]
pub(crate) struct Limited {
    inner: MemoryStorage,
    disk: Arc<Disk>,
}

#[derive(Default)]
struct Disk {
    /// Calls that take space and still succeed; below zero the disk is full. Far away unless set.
    left: AtomicI64,
    is_set: AtomicU64,
    /// Whether writing over what is there takes space.
    counts_overwrites: bool,
    full_calls: AtomicU64,
    calls: AtomicU64,
    /// Held by each change, and alone by who takes an image.
    moment: RwLock<()>,
}

impl Limited {
    /// A disk on which overwriting takes space too, if `counts_overwrites`.
    pub(crate) fn new(inner: MemoryStorage, counts_overwrites: bool) -> Limited {
        let disk = Disk {
            counts_overwrites,
            ..Disk::default()
        };
        Limited {
            inner,
            disk: Arc::new(disk),
        }
    }

    /// What a kill at this moment leaves, also while a keeper is at work.
    pub(crate) fn killed(&self) -> MemoryStorage {
        let _alone = self.disk.moment.write().unwrap();
        killed(&self.inner)
    }

    /// From now on so many calls that take space succeed, then none.
    pub(crate) fn fill_after(&self, calls: u64) {
        let calls = i64::try_from(calls).unwrap();
        self.disk.left.store(calls, Ordering::Relaxed);
        self.disk.is_set.store(1, Ordering::Relaxed);
    }

    /// There is space again.
    pub(crate) fn free(&self) {
        self.disk.is_set.store(0, Ordering::Relaxed);
    }

    /// How many calls were told that the disk is full.
    pub(crate) fn full_calls(&self) -> u64 {
        self.disk.full_calls.load(Ordering::Relaxed)
    }

    /// How many calls asked for space.
    pub(crate) fn calls(&self) -> u64 {
        self.disk.calls.load(Ordering::Relaxed)
    }
}

impl Disk {
    fn take(&self) -> io::Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.is_set.load(Ordering::Relaxed) == 0 || self.left.fetch_sub(1, Ordering::Relaxed) > 0
        {
            return Ok(());
        }
        self.full_calls.fetch_add(1, Ordering::Relaxed);
        Err(io::ErrorKind::StorageFull.into())
    }
}

impl Storage for Limited {
    fn place(&self) -> String {
        String::from("a small disk")
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        self.disk.take()?;
        let _moment = self.disk.moment.read().unwrap();
        let file = self.inner.create(name)?;
        let disk = Arc::clone(&self.disk);
        Ok(Arc::new(LimitedFile { file, disk }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let file = self.inner.open(name)?;
        let disk = Arc::clone(&self.disk);
        Ok(Arc::new(LimitedFile { file, disk }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let _moment = self.disk.moment.read().unwrap();
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let _moment = self.disk.moment.read().unwrap();
        self.inner.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn try_lock(&self, name: &str, holder: &str) -> io::Result<Option<Box<dyn StorageLock>>> {
        self.inner.try_lock(name, holder)
    }
}

struct LimitedFile {
    file: Arc<dyn StorageFile>,
    disk: Arc<Disk>,
}

impl StorageFile for LimitedFile {
    fn bytes(&self) -> io::Result<u64> {
        self.file.bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let grows = offset + bytes.len() as u64 > self.file.bytes()?;
        if grows || self.disk.counts_overwrites {
            self.disk.take()?;
        }
        let _moment = self.disk.moment.read().unwrap();
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn prepare(&self, writes: Writes) -> io::Result<()> {
        // Mapped writes over what is there take their space beforehand.
        if self.disk.counts_overwrites {
            self.disk.take()?;
        }
        self.file.prepare(writes)
    }
}
