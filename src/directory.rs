//! The names of a store's files, and what is done to files by name: lock, survey, make, remove.
//!
//! Invariants: (1) a slot's own name leads only to a file of full length with real space, durable
//! together with its name; (2) "no space" is answered only when nothing was left behind by it;
//! (3) a name that is not ours is never touched.
//!
//! Names stand in docs/format.md, section 1; rule numbers refer to docs/design.md.

use std::io;
use std::process;
use std::sync::Arc;

use crate::error::{Cause, Error, Result, write_escaped};
use crate::ids::Slot;
use crate::mutant::{self, Mutant};
use crate::storage::{
    Storage, StorageFile, StorageLock, Written, is_no_space, read_full, write_full,
};

pub(crate) const LOCK_NAME: &str = "lock";
pub(crate) const STORE_NAME: &str = "store";
pub(crate) const STORE_NEW_NAME: &str = "store.new";
const SLOT_PREFIX: &str = "slot-";
const SLOT_DIGITS_MIN: usize = 6;
const NEW_SUFFIX: &str = ".new";
const AWAY_SUFFIX: &str = ".away";
/// Larger writes make larger pages in the page cache, and each sync of one record writes those.
pub(crate) const ZEROS: &[u8] = &[0; 4096];
const HOLDER_BYTES_MAX: usize = 32;

/// The name of `slot`.
pub(crate) fn slot_name(slot: Slot) -> String {
    format!("{SLOT_PREFIX}{:0SLOT_DIGITS_MIN$}", slot.0)
}

/// The name of `slot` while it is made.
pub(crate) fn slot_new_name(slot: Slot) -> String {
    slot_name(slot) + NEW_SUFFIX
}

/// The name of `slot` while recovery renames it away and back.
pub(crate) fn slot_away_name(slot: Slot) -> String {
    slot_name(slot) + AWAY_SUFFIX
}

/// What a name in the directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Lock,
    Store,
    StoreNew,
    Slot(Slot),
    SlotNew(Slot),
    SlotAway(Slot),
    Unknown,
}

/// What `name` stands for; only the very names that are written here are known.
pub(crate) fn parse(name: &str) -> Name {
    match name {
        LOCK_NAME => return Name::Lock,
        STORE_NAME => return Name::Store,
        STORE_NEW_NAME => return Name::StoreNew,
        _ => {}
    }
    let made: (&str, fn(Slot) -> Name) = if let Some(stem) = name.strip_suffix(NEW_SUFFIX) {
        (stem, Name::SlotNew)
    } else if let Some(stem) = name.strip_suffix(AWAY_SUFFIX) {
        (stem, Name::SlotAway)
    } else {
        (name, Name::Slot)
    };
    parse_slot(made.0).map_or(Name::Unknown, made.1)
}

fn parse_slot(stem: &str) -> Option<Slot> {
    let digits = stem.strip_prefix(SLOT_PREFIX)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_surplus = digits.len() > SLOT_DIGITS_MIN && digits.starts_with('0');
    if digits.len() < SLOT_DIGITS_MIN || is_surplus || !are_digits {
        return None;
    }
    digits.parse().ok().map(Slot)
}

/// The names in a directory by what they stand for; slots in rising order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    pub(crate) has_lock: bool,
    pub(crate) has_store: bool,
    pub(crate) has_store_new: bool,
    pub(crate) slots: Vec<Slot>,
    pub(crate) slots_new: Vec<Slot>,
    pub(crate) slots_away: Vec<Slot>,
    /// As they are on disk: to be escaped before they are shown.
    pub(crate) unknown: Vec<String>,
}

impl Survey {
    /// Whether there is nothing but a lock.
    pub(crate) fn is_bare(&self) -> bool {
        let nothing = Survey {
            has_lock: self.has_lock,
            ..Survey::default()
        };
        *self == nothing
    }
}

/// What there is no space for, where a slot is made.
const SLOT: &str = "a new slot";

/// Why a slot was not made.
#[derive(Debug)]
pub(crate) enum MakeSlotError {
    /// Nothing is left but, where even the removal failed, a `.new` that the next attempt or the
    /// next open removes. The store goes on.
    Failed(Error),
    /// A write or a sync failed, of the file or of the directory. What the system holds for
    /// written may be lost without a further word: the store must be poisoned (rule 15).
    Fatal(Error),
}

/// A directory with the files of a store.
#[derive(Clone)]
pub(crate) struct Directory {
    storage: Arc<dyn Storage>,
    place: Arc<str>,
}

impl Directory {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Directory {
        let place = Arc::from(storage.place());
        Directory { storage, place }
    }

    /// The directory as messages name it.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// The file `name` as messages name it.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }

    /// The error for what the system reports while `doing` something to the file `name`.
    pub(crate) fn io(&self, doing: &'static str, name: &str, source: io::Error) -> Error {
        Error::io(doing, self.file(name), source)
    }

    /// Takes the lock, before anything is read (rule 14); it ends when the value is dropped.
    ///
    /// # Errors
    ///
    /// - [`Error::Locked`]: another open store holds it.
    /// - [`Error::Io`]: it cannot be known whether one does.
    pub(crate) fn lock(&self) -> Result<Box<dyn StorageLock>> {
        let lock = self.storage.try_lock(LOCK_NAME, &process::id().to_string());
        match lock.map_err(|error| self.io("lock", LOCK_NAME, error))? {
            Some(lock) => Ok(lock),
            None => Err(Error::Locked {
                place: String::from(self.place()),
                holder: self.holder(),
            }),
        }
    }

    /// What the holder of the lock wrote, as far as it can be had; it is only shown.
    fn holder(&self) -> String {
        let mut buffer = [0; HOLDER_BYTES_MAX];
        let file = self.storage.open(LOCK_NAME);
        let count = file
            .and_then(|file| read_full(&*file, 0, &mut buffer))
            .unwrap_or(0);
        let text = buffer.get(..count).unwrap_or_default().trim_ascii();
        let mut holder = String::new();
        // Writing to a string cannot fail.
        let _ = write_escaped(&mut holder, if text.is_empty() { b"unknown" } else { text });
        holder
    }

    /// All names by kind.
    pub(crate) fn survey(&self) -> Result<Survey> {
        let names = self.storage.list();
        let names = names.map_err(|error| Error::io("list", self.place(), error))?;
        let mut survey = Survey::default();
        for name in names {
            match parse(&name) {
                Name::Lock => survey.has_lock = true,
                Name::Store => survey.has_store = true,
                Name::StoreNew => survey.has_store_new = true,
                Name::Slot(slot) => survey.slots.push(slot),
                Name::SlotNew(slot) => survey.slots_new.push(slot),
                Name::SlotAway(slot) => survey.slots_away.push(slot),
                Name::Unknown => survey.unknown.push(name),
            }
        }
        survey.slots.sort_unstable();
        survey.slots_new.sort_unstable();
        survey.slots_away.sort_unstable();
        survey.unknown.sort_unstable();
        Ok(survey)
    }

    pub(crate) fn create(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.storage
            .create(name)
            .map_err(|error| self.io("create", name, error))
    }

    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.storage
            .open(name)
            .map_err(|error| self.io("open", name, error))
    }

    pub(crate) fn open_slot(&self, slot: Slot) -> Result<Arc<dyn StorageFile>> {
        self.open(&slot_name(slot))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.storage
            .rename(from, to)
            .map_err(|error| self.io("rename", from, error))
    }

    /// Removes the file `name`; one that is not there is as good as removed.
    ///
    /// The directory is not synced: a file that comes back after a power cut is one that the chain
    /// does not need, or one that the next open removes.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        match self.storage.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.io("remove", name, error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn remove_slot(&self, slot: Slot) -> Result<()> {
        self.remove(&slot_name(slot))
    }

    /// Gives each of `slots` its name anew and syncs the directory.
    ///
    /// After a failed directory sync the kernel may have forgotten that a name is not durable; a
    /// name that is made again is made durable by the next sync in any case (rule 10).
    pub(crate) fn rename_anew(&self, slots: impl Iterator<Item = Slot>) -> Result<()> {
        for slot in slots {
            if mutant::is(Mutant::NamesNotRenewed) {
                continue;
            }
            let (name, away) = (slot_name(slot), slot_away_name(slot));
            self.rename(&name, &away)?;
            self.rename(&away, &name)?;
        }
        if mutant::is(Mutant::NoDirectorySyncOnOpen) {
            return Ok(());
        }
        self.sync()
    }

    pub(crate) fn sync(&self) -> Result<()> {
        if mutant::is(Mutant::NoDirectorySync) {
            return Ok(());
        }
        let synced = self.storage.sync_directory();
        synced.map_err(|error| Error::io("sync", self.place(), error))
    }

    /// Makes `slot`, which must not be there: `segment_bytes` bytes of real zeros (rule 5).
    ///
    /// # Errors
    ///
    /// - [`MakeSlotError::Failed`]: [`Error::NoSpace`] if the disk is full, else [`Error::Io`].
    /// - [`MakeSlotError::Fatal`]: a write or sync failed for another reason.
    pub(crate) fn make_slot(
        &self,
        slot: Slot,
        segment_bytes: u64,
    ) -> std::result::Result<Arc<dyn StorageFile>, MakeSlotError> {
        let (name, new_name) = (slot_name(slot), slot_new_name(slot));
        // A rename replaces without asking, and what it would replace may be a segment.
        let there = match self.storage.open(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(error),
            Ok(_) => Some(io::Error::from(io::ErrorKind::AlreadyExists)),
        };
        if let Some(error) = there {
            return Err(MakeSlotError::Failed(self.io("make", &name, error)));
        }
        self.remove(&new_name).map_err(MakeSlotError::Failed)?;
        // Order:
        // 1. Write zeros, so that the file has its space and a map of it never asks for more.
        // 2. Sync them, or a power cut leaves the name with a file that is too short.
        // 3. Only then give it the slot's name.
        // 4. Sync the directory, or a power cut takes the name and every record in the slot.
        let made = self.make_synced(&new_name, segment_bytes).and_then(|file| {
            let renamed = self.storage.rename(&new_name, &name);
            renamed.map_err(|error| self.ended("make", &name, error))?;
            Ok(file)
        });
        if made.is_err() {
            // If it stays, the next attempt or the next open removes it.
            let _ = self.storage.remove(&new_name);
        }
        let file = made?;
        if !mutant::is(Mutant::NoDirectorySyncAtCreation) {
            self.sync().map_err(MakeSlotError::Fatal)?;
        }
        Ok(file)
    }

    fn make_synced(
        &self,
        name: &str,
        segment_bytes: u64,
    ) -> std::result::Result<Arc<dyn StorageFile>, MakeSlotError> {
        let failed =
            |doing| move |error| MakeSlotError::Failed(self.refused(SLOT, (doing, name), error));
        let file = self.storage.create(name).map_err(failed("create"))?;
        let zeros = write_zeros(&*file, segment_bytes);
        zeros.map_err(|error| self.ended("write", name, error))?;
        // Also "no space" is fatal here: after it nobody can say which pages are written.
        let synced = file.sync();
        synced.map_err(|error| MakeSlotError::Fatal(self.io("sync", name, error)))?;
        Ok(file)
    }

    /// A full disk leaves the store as it was; any other failure of a write is final (rule 15).
    fn ended(&self, doing: &'static str, name: &str, error: io::Error) -> MakeSlotError {
        match self.refused(SLOT, (doing, name), error) {
            error @ Error::NoSpace { .. } => MakeSlotError::Failed(error),
            error => MakeSlotError::Fatal(error),
        }
    }

    /// No space for `what` if that is what `error` says, else an error of the system.
    pub(crate) fn refused(
        &self,
        what: &'static str,
        (doing, name): (&'static str, &str),
        error: io::Error,
    ) -> Error {
        if !is_no_space(&error) {
            return self.io(doing, name, error);
        }
        let place = String::from(self.place());
        Error::NoSpace {
            what,
            place,
            source: Some(Cause::from(error)),
        }
    }
}

/// Writes all of `bytes` to the file of this name.
pub(crate) fn write_all(
    file: &dyn StorageFile,
    offset: u64,
    bytes: &[u8],
    name: &str,
) -> Result<()> {
    match write_full(file, offset, bytes) {
        Written::All => Ok(()),
        Written::Nothing(error) | Written::Part(error) => Err(Error::io("write", name, error)),
    }
}

fn write_zeros(file: &dyn StorageFile, bytes: u64) -> io::Result<()> {
    let mut offset = 0;
    while offset < bytes {
        let count = usize::try_from(bytes - offset)
            .unwrap_or(usize::MAX)
            .min(ZEROS.len());
        match write_full(file, offset, ZEROS.get(..count).unwrap_or(ZEROS)) {
            Written::All => offset += count as u64,
            Written::Nothing(error) | Written::Part(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
