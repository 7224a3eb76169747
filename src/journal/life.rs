//! The store file, and how a life of the store begins its first segment.

use std::sync::atomic::Ordering;

use crate::directory::{Directory, STORE_NAME, STORE_NEW_NAME, slot_name, write_all};
use crate::error::{Error, Result};
use crate::format::store;
use crate::journal::{File, Inner, Journal};
use crate::mutant::{self, Mutant};
use crate::storage::{Written, write_full};
use crate::store_file::StoreCopy;

/// The store file of an open store.
pub(crate) struct OpenStoreFile {
    file: File,
    copy: StoreCopy,
}

impl OpenStoreFile {
    pub(crate) fn new(file: File, copy: StoreCopy) -> OpenStoreFile {
        OpenStoreFile { file, copy }
    }

    pub(crate) fn file(&self) -> File {
        File::clone(&self.file)
    }

    pub(crate) fn copy(&self) -> &StoreCopy {
        &self.copy
    }

    /// Makes `copy` durable, with the next generation.
    pub(crate) fn write(&mut self, copy: StoreCopy) -> Result<()> {
        let copy = StoreCopy {
            generation: self.copy.generation + 1,
            ..copy
        };
        self.write_both(&copy)?;
        self.copy = copy;
        Ok(())
    }

    /// Writes what it says once more and makes it durable: a sync that failed in an earlier life
    /// may have left it in the page cache alone, where no other sync brings it to the disk.
    pub(crate) fn write_again(&self) -> Result<()> {
        self.write_both(&self.copy)
    }

    fn write_both(&self, copy: &StoreCopy) -> Result<()> {
        // Copy 0 is durable before copy 1 is touched: a power cut can tear one of them only.
        for offset in store::COPY_OFFSETS {
            write_synced(&self.file, offset, &copy.encode(), STORE_NAME)?;
        }
        Ok(())
    }

    /// Makes a new store file with `copy` and puts it in the place of what is there.
    pub(crate) fn create(directory: &Directory, copy: StoreCopy) -> Result<OpenStoreFile> {
        directory.remove(STORE_NEW_NAME)?;
        let file = directory.create(STORE_NEW_NAME)?;
        let encoded = copy.encode();
        let copies = store::COPY_OFFSETS.map(|offset| (offset, &encoded[..]));
        let last_byte = [(store::FILE_BYTES - 1, &[0][..])];
        for (offset, bytes) in last_byte.into_iter().chain(copies) {
            match write_full(&*file, offset, bytes) {
                Written::All => {}
                Written::Nothing(error) | Written::Part(error) => {
                    return Err(directory.refused(
                        "the store file",
                        ("write", STORE_NEW_NAME),
                        error,
                    ));
                }
            }
        }
        // Order: content before name, name before anything that needs the store file.
        file.sync()
            .map_err(|error| directory.io("sync", STORE_NEW_NAME, error))?;
        directory.rename(STORE_NEW_NAME, STORE_NAME)?;
        if !mutant::is(Mutant::NoDirectorySyncAtCreation) {
            directory.sync()?;
        }
        Ok(OpenStoreFile { file, copy })
    }
}

/// Writes `bytes` and makes them durable.
fn write_synced(file: &File, offset: u64, bytes: &[u8], name: &str) -> Result<()> {
    write_all(&**file, offset, bytes, name)?;
    file.sync().map_err(|error| Error::io("sync", name, error))
}

impl Journal {
    /// Begins the first segment of this life, if it has none yet.
    ///
    /// Only the thread that maintains the journal calls this.
    pub(crate) fn begin_life(&self) -> Result<()> {
        {
            let inner = self.inner.lock();
            if inner.writer.is_some() || inner.is_closed {
                return Ok(());
            }
        }
        self.commit.check()?;
        self.make_names_durable()?;
        #[cfg(idjournal_mutants)]
        if self.append_in_place() {
            return Ok(());
        }
        let slot = self.take_or_make()?;
        // Order:
        // 1. The header, both copies durable: the store file must never name what is not there.
        // 2. The store file names the segment: from now on a chain that ends before it is refused.
        // 3. Only then records: one that counts as durable is in a segment that cannot be
        // overlooked.
        let next = self.write_header(slot, false)?;
        let mut inner = self.inner.lock();
        let copy = StoreCopy {
            first_number: next.link.number,
            first_salt: next.link.salt,
            ..*inner.store_file.copy()
        };
        if !mutant::is(Mutant::FirstNotNamed) {
            inner
                .store_file
                .write(copy)
                .map_err(|error| self.fatal(error))?;
        }
        let end = inner.ring.last().map_or(0, |last| last.end);
        inner.begin(self, next, end);
        Ok(())
    }

    /// Makes sure that the names of free slots, and of the store file, are durable.
    fn make_names_durable(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.names_are_durable {
            return Ok(());
        }
        let Inner {
            ring, store_file, ..
        } = &mut *inner;
        if ring.last().is_none() {
            // The store file may be one whose directory sync failed in an earlier life. It comes
            // before every slot: slots without it are refused.
            let copy = *store_file.copy();
            *store_file = OpenStoreFile::create(&self.directory, copy)?;
        }
        let slots = ring.free().iter().map(|free| free.slot);
        self.directory
            .rename_anew(slots)
            .map_err(|error| self.fatal(error))?;
        for free in ring.free() {
            let synced = free.file.sync();
            synced.map_err(|error| self.fatal(Error::io("sync", slot_name(free.slot), error)))?;
        }
        inner.names_are_durable = true;
        Ok(())
    }
}

/// The seeded bugs that go on in the segment of the life before.
#[cfg(idjournal_mutants)]
impl Journal {
    fn append_in_place(&self) -> bool {
        let mut inner = self.inner.lock();
        let Some(last) = inner.ring.last() else {
            return false;
        };
        let mut first = [0; 8];
        let is_read = crate::storage::read_full(&*last.file, last.end, &mut first).is_ok();
        let is_chosen = match first {
            _ if !is_read => false,
            [0, 0, 0, 0, 0, 0, 0, 0] if mutant::is(Mutant::AppendAtZeros) => true,
            _ => mutant::is(Mutant::AppendInPlace) || mutant::is(Mutant::AppendInPlaceZeroed),
        };
        if !is_chosen || last.bytes != self.segment_bytes || last.end + 64 > last.bytes {
            return false;
        }
        if mutant::is(Mutant::AppendInPlaceZeroed) {
            let rest = usize::try_from(last.bytes - last.end).unwrap_or(0);
            let _ = write_full(&*last.file, last.end, &vec![0; rest]);
        }
        let identity = inner.store_file.copy().identity;
        let seed = crate::record::Seed::new(&identity, last.salt, last.number);
        let head = (seed, last.salt);
        let (file, base_time) = (File::clone(&last.file), last.base_time);
        let writer =
            crate::segment::SegmentWriter::create(file, head, base_time, last.bytes).at(last.end);
        inner.writer = Some(writer);
        true
    }
}

/// Shared syncs from one rotation to the next that nobody else has asked for, and some.
const SYNCS_OF_ROTATION: u64 = 4;

impl Journal {
    /// Whether the last segment was filled with hardly a sync but those that rotation takes, so
    /// that the next one is likely to be, too.
    pub(super) fn is_filling(&self) -> bool {
        let syncs = self.commit.syncs();
        let before = self.syncs_before.swap(syncs, Ordering::Relaxed);
        let is_first = self.inner.lock().counts.segments_begun < 2;
        !is_first && syncs - before <= SYNCS_OF_ROTATION
    }
}
