//! A copy of an open store, in the state of one moment, while it goes on.
//!
//! A segment that was sealed never changes until it is released, so that these are copied while
//! calls and upkeep go on; one that is released meanwhile is not needed any more, and its copy is
//! dropped. Only the last few segments are copied while upkeep stands still, up to the position
//! that is the moment of the copy.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::directory::{Directory, STORE_NAME, STORE_NEW_NAME, ZEROS, slot_name};
use crate::error::{Bytes, DamageReason, Error, Result};
use crate::ids::{SegmentNumber, Slot};
use crate::journal::{ChainSegment, Journal, OpenStoreFile, Snapshot};
use crate::mutant::{self, Mutant};
use crate::segment::SegmentReader;
use crate::storage::{FileStorage, Storage, StorageFile, Written, read_full, write_full};
use crate::store::Store;
use crate::store::shared::Shared;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// How often sealed segments are looked for that were not copied yet, before the rest is copied
/// while upkeep stands still.
const ROUNDS: u32 = 8;

/// How many sealed segments may be left for that.
const LEFT_SEGMENTS: usize = 1;

impl Store {
    /// Copies the store to `directory`, while it goes on: what opens there is the store in the
    /// state of one moment during this call, with everything in it that was recorded before.
    ///
    /// The directory is made if it is not there, and must be empty but for the file `lock`. The
    /// copy is on disk when this returns, was verified, and is as if closed: opening it recovers
    /// nothing. If this fails, or the process or the power does, what is left does not open as a
    /// store, or is as empty as it was before; remove it before the next attempt.
    ///
    /// The copy has the identity of the store and may be opened beside it: from then on these are
    /// two stores, and neither learns what the other one is told. Never put files of one into the
    /// other: that is refused when it is opened, since both go on under random numbers of their own
    /// (docs/format.md). Settle a prepared transaction in one of them only.
    ///
    /// It takes as long as copying and syncing all segments does; calls go on meanwhile. Carrying
    /// forward and new segments wait while the last few segments are copied, and calls only if they
    /// fill the active segment and the next one in this time. Memory is used for one piece of 64
    /// KiB and some bytes per segment.
    ///
    /// # Errors
    ///
    /// - [`Error::Io`]: the directory is not empty, or the system refuses. A failure there does not
    ///   concern this store.
    /// - [`Error::NoSpace`]: there is not room enough for the copy.
    /// - [`Error::Locked`]: the directory is open elsewhere.
    /// - [`Error::Damaged`]: a segment of this store has changed on disk; it is not copied.
    /// - [`Error::Options`]: the store is in memory only.
    /// - [`Error::Poisoned`], [`Error::Closed`], [`Error::Forked`], [`Error::OutcomeUnknown`].
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{Options, Store};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let (path, copy) = (scratch.path().join("ids"), scratch.path().join("copy"));
    /// let store = Store::open(&path, Options::default())?;
    /// let _ = store.cache("orders")?.add("order-1842")?;
    /// store.backup(&copy)?;
    /// let _ = store.cache("orders")?.add("order-1843")?;
    ///
    /// let copied = Store::open(&copy, Options::default())?;
    /// let orders = copied.cache("orders")?;
    /// assert!(orders.contains("order-1842")? && !orders.contains("order-1843")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<()> {
        let path = directory.as_ref();
        let storage = FileStorage::create(path).map_err(|error| {
            let shown = Bytes::from(path.as_os_str().as_encoded_bytes()).to_string();
            Error::io("create", shown, error)
        })?;
        self.backup_on(storage)
    }

    /// The same, to a storage of your own.
    ///
    /// # Errors
    ///
    /// As [`backup`](Store::backup).
    ///
    /// # Examples
    ///
    /// ```
    /// use idjournal::{MemoryStorage, Options, Store};
    ///
    /// # fn main() -> idjournal::Result<()> {
    /// let store = Store::open_on(MemoryStorage::new(), Options::default(), &mut |_| {})?;
    /// let _ = store.cache("orders")?.add("order-1842")?;
    /// let copy = MemoryStorage::new();
    /// store.backup_on(copy.clone())?;
    /// let copied = Store::open_on(copy, Options::default(), &mut |_| {})?;
    /// assert!(copied.cache("orders")?.contains("order-1842")?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backup_on(&self, storage: impl Storage) -> Result<()> {
        let shared = self.shared();
        shared.check()?;
        let Some(journal) = &shared.journal else {
            let (option, why) = ("persistence", "a store in memory only has no copy on disk");
            return Err(Error::Options { option, why });
        };
        let directory = Directory::new(Arc::new(storage));
        let _lock = directory.lock()?;
        let survey = directory.survey()?;
        if !survey.is_bare() {
            let not_empty = io::Error::from(io::ErrorKind::DirectoryNotEmpty);
            return Err(Error::io("back up into", directory.place(), not_empty));
        }
        let mut copy = Copy {
            directory,
            copied: BTreeMap::new(),
            slots: 0,
        };
        let done = copy.make(shared, journal);
        shared.waits.wake_due();
        if done.is_err() {
            copy.remove();
        }
        done
    }
}

/// A copy in the making.
struct Copy {
    directory: Directory,
    copied: BTreeMap<SegmentNumber, Copied>,
    /// How many slots were made.
    slots: u32,
}

/// A segment that was copied.
struct Copied {
    slot: Slot,
    file: Arc<dyn StorageFile>,
    is_synced: bool,
}

impl Copy {
    /// Order:
    /// 1. A first slot with its name, durable: from then on a directory without a store file is
    ///    refused, so that no half copy opens as an empty store.
    /// 2. All slots, verified and durable with their names.
    /// 3. The store file, which makes it a store.
    fn make(&mut self, shared: &Shared, journal: &Journal) -> Result<()> {
        for _ in 0..ROUNDS {
            shared.check()?;
            let snapshot = journal.snapshot();
            self.drop_released(&snapshot)?;
            let sealed = snapshot.segments.iter().filter(|one| !one.is_active);
            let missing: Vec<_> = sealed.filter(|one| !self.has(one)).collect();
            if missing.len() <= LEFT_SEGMENTS {
                break;
            }
            for segment in missing {
                // Asked before too, to spare the work.
                if journal.needs(segment.header.number) {
                    self.copy(segment)?;
                }
                if !journal.needs(segment.header.number) {
                    self.drop_one(segment.header.number)?;
                } else {
                    self.finish(segment)?;
                }
            }
        }
        let snapshot = {
            let _upkeep = shared.maintenance.lock();
            // Asked under the lock: after a close the directory may be somebody else's.
            shared.check()?;
            let snapshot = journal.snapshot();
            // What the copy shows must never be taken back by a crash of this store.
            if !mutant::is(Mutant::BackupAhead) {
                journal.wait(snapshot.end)?;
            }
            self.drop_released(&snapshot)?;
            for segment in &snapshot.segments {
                if !self.has(segment) {
                    self.copy(segment)?;
                }
            }
            snapshot
        };
        for segment in &snapshot.segments {
            self.finish(segment)?;
        }
        self.directory.sync()?;
        OpenStoreFile::create(&self.directory, snapshot.store).map(drop)
    }

    fn has(&self, segment: &ChainSegment) -> bool {
        self.copied.contains_key(&segment.header.number)
    }

    /// Drops the copies of segments that are not needed any more.
    fn drop_released(&mut self, snapshot: &Snapshot) -> Result<()> {
        let oldest = snapshot.segments.first();
        let oldest = oldest.map_or(SegmentNumber(0), |oldest| oldest.header.number);
        while let Some(first) = self.copied.first_key_value().map(|(number, _)| *number)
            && first < oldest
        {
            self.drop_one(first)?;
        }
        Ok(())
    }

    fn drop_one(&mut self, number: SegmentNumber) -> Result<()> {
        match self.copied.remove(&number) {
            Some(copied) => self.directory.remove_slot(copied.slot),
            None => Ok(()),
        }
    }

    /// Copies a segment up to its end; behind that there are zeros.
    fn copy(&mut self, segment: &ChainSegment) -> Result<()> {
        let slot = Slot(self.slots);
        let name = slot_name(slot);
        let file = self.directory.create(&name)?;
        self.slots += 1;
        let copied = Copied {
            slot,
            file: Arc::clone(&file),
            is_synced: false,
        };
        self.copied.insert(segment.header.number, copied);
        if slot == Slot(0) {
            self.directory.sync()?;
        }
        let mut piece = vec![0; PIECE_BYTES];
        let mut offset = 0;
        while offset < segment.end {
            let left = usize::try_from(segment.end - offset).unwrap_or(PIECE_BYTES);
            let piece = piece.get_mut(..left.min(PIECE_BYTES)).unwrap_or_default();
            let read = read_full(&*segment.file, offset, piece);
            let read = read.map_err(|error| Error::io("read", "a segment", error))?;
            if read < piece.len() {
                let number = segment.header.number;
                return Err(Error::damaged(number, offset, DamageReason::Length));
            }
            // In pages, as slots are made (rule 5 of docs/design.md).
            for page in piece.chunks(ZEROS.len()) {
                self.write(&*file, &name, offset, page)?;
                offset += page.len() as u64;
            }
        }
        while offset < segment.header.segment_bytes {
            let left = segment.header.segment_bytes - offset;
            // Up to the next page, then whole ones.
            let page = ZEROS.len() - usize::try_from(offset).unwrap_or(0) % ZEROS.len();
            let count = usize::try_from(left).unwrap_or(page).min(page);
            self.write(&*file, &name, offset, ZEROS.get(..count).unwrap_or(ZEROS))?;
            offset += count as u64;
        }
        Ok(())
    }

    fn write(&self, file: &dyn StorageFile, name: &str, offset: u64, bytes: &[u8]) -> Result<()> {
        match write_full(file, offset, bytes) {
            Written::All => Ok(()),
            Written::Nothing(error) | Written::Part(error) => {
                Err(self.directory.refused("a backup", ("write", name), error))
            }
        }
    }

    /// Verifies the copy of a segment and makes it durable, if that was not done yet.
    fn finish(&mut self, segment: &ChainSegment) -> Result<()> {
        let Some(copied) = self.copied.get_mut(&segment.header.number) else {
            return Ok(());
        };
        if copied.is_synced {
            return Ok(());
        }
        let name = slot_name(copied.slot);
        if !mutant::is(Mutant::BackupNotSynced) {
            let synced = copied.file.sync();
            synced.map_err(|error| self.directory.refused("a backup", ("sync", &name), error))?;
        }
        copied.is_synced = true;
        let read = |error| self.directory.io("read", &name, error);
        let file = Arc::clone(&copied.file);
        let mut records =
            SegmentReader::new(file, &segment.header, Some(segment.end)).map_err(read)?;
        while records.next().map_err(read)?.is_some() {}
        if records.valid_end() != segment.end {
            let (number, offset) = (segment.header.number, records.valid_end());
            return Err(Error::damaged(number, offset, DamageReason::Checksum));
        }
        Ok(())
    }

    /// Takes away what was made: what makes it a store comes first. What cannot be removed is
    /// refused for want of that.
    fn remove(&self) {
        for name in [STORE_NAME, STORE_NEW_NAME] {
            if self.directory.remove(name).is_err() {
                return;
            }
        }
        if self.directory.sync().is_err() {
            return;
        }
        for slot in (0..self.slots).map(Slot) {
            let _ = self.directory.remove_slot(slot);
        }
    }
}
