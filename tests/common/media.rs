//! What a disk holds and what a power cut may leave of it: exactly the legal states.
//!
//! A file has what its readers see (`cache`), what is durable (`disk`), and the unsynced pieces
//! between, cut at sector borders. After a power cut each sector shows the version after its first
//! k unsynced pieces, k chosen per sector: two writes of one sector never survive in reverse. Names
//! that were not synced are there or not, in any combination; lengths lie between synced and
//! current.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::generator::Choices;
use super::media_file::{FileData, Survivors};

/// Which of the legal states a power cut leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Nothing,
    Everything,
    /// Everything up to some moment; the last write is torn at a sector border.
    Prefix,
    /// A free choice for each sector, name and length.
    Free,
    AllButOne,
    OnlyOne,
}

impl Cut {
    pub fn any(choices: &mut Choices) -> Cut {
        const ALL: [Cut; 8] = [
            Cut::Nothing,
            Cut::Everything,
            Cut::Prefix,
            Cut::Prefix,
            Cut::Free,
            Cut::Free,
            Cut::AllButOne,
            Cut::OnlyOne,
        ];
        ALL[choices.choose(ALL.len())]
    }
}

/// The content of the disk; a copy shares all files until they are written.
#[derive(Clone)]
pub struct Media {
    sector_bytes: usize,
    files: BTreeMap<u64, Arc<FileData>>,
    names: Arc<Names>,
    next_inode: u64,
    time: u64,
}

#[derive(Clone, Default)]
struct Names {
    cache: BTreeMap<String, u64>,
    disk: BTreeMap<String, u64>,
    unsynced: Vec<NameChange>,
}

/// A change of the directory: a file gets this name as its only one, or loses it.
#[derive(Clone)]
struct NameChange {
    inode: u64,
    name: Option<String>,
    time: u64,
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        names.retain(|_, inode| *inode != self.inode);
        if let Some(name) = &self.name {
            names.insert(name.clone(), self.inode);
        }
    }
}

impl Media {
    pub fn new(sector_bytes: usize) -> Media {
        let names = Arc::new(Names::default());
        Media {
            sector_bytes,
            files: BTreeMap::new(),
            names,
            next_inode: 0,
            time: 0,
        }
    }

    pub fn sector_bytes(&self) -> usize {
        self.sector_bytes
    }

    pub fn names(&self) -> Vec<String> {
        self.names.cache.keys().cloned().collect()
    }

    pub fn inode(&self, name: &str) -> io::Result<u64> {
        self.names
            .cache
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The name that a reader sees the file under, or nothing.
    pub fn name(&self, inode: u64) -> String {
        let named = self.names.cache.iter().find(|(_, other)| **other == inode);
        named.map(|(name, _)| name.clone()).unwrap_or_default()
    }

    /// The file that has this name after a power cut that takes everything unsynced.
    pub fn durable_inode(&self, name: &str) -> Option<u64> {
        self.names.disk.get(name).copied()
    }

    /// Counts the changes so far.
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The time of the first unsynced piece of any slot that still has a name.
    pub fn unsynced_since(&self) -> Option<u64> {
        let slots = self
            .names
            .cache
            .iter()
            .filter(|(name, _)| name.starts_with("slot-"));
        slots
            .filter_map(|(_, inode)| self.unsynced_of(*inode))
            .min()
    }

    /// The time of the first unsynced piece of a file.
    pub fn unsynced_of(&self, inode: u64) -> Option<u64> {
        let file = self.files.get(&inode)?;
        file.pieces.first().map(|piece| piece.time)
    }

    /// Whether of the unsynced pieces of `name` one behind `offset` survived in `image`.
    pub fn has_survivor_behind(&self, image: &Media, name: &str, offset: u64) -> bool {
        let (Ok(inode), Ok(left)) = (self.inode(name), image.content(name)) else {
            return false;
        };
        let Some(file) = self.files.get(&inode) else {
            return false;
        };
        let mut behind = file.pieces.iter().filter(|piece| {
            (piece.offset / self.sector_bytes) as u64 > offset / self.sector_bytes as u64
        });
        behind.any(|piece| {
            let range = piece.offset..piece.offset + piece.bytes;
            left.get(range.clone()) == file.cache.get(range.clone())
                && file.disk.get(range.clone()) != file.cache.get(range)
        })
    }

    pub fn create(&mut self, name: &str) -> io::Result<u64> {
        if self.names.cache.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.next_inode += 1;
        self.files.insert(self.next_inode, Arc::default());
        self.change_name(self.next_inode, Some(name));
        Ok(self.next_inode)
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.inode(from)?;
        self.change_name(inode, Some(to));
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        let inode = self.inode(name)?;
        self.change_name(inode, None);
        Ok(())
    }

    fn change_name(&mut self, inode: u64, name: Option<&str>) {
        self.time += 1;
        let change = NameChange {
            inode,
            name: name.map(str::to_owned),
            time: self.time,
        };
        let names = Arc::make_mut(&mut self.names);
        change.apply(&mut names.cache);
        names.unsynced.push(change);
    }

    /// Makes the names durable, or forgets what it should have made durable.
    pub fn sync_names(&mut self, is_failing: bool) {
        if self.names.unsynced.is_empty() {
            return;
        }
        let names = Arc::make_mut(&mut self.names);
        for change in std::mem::take(&mut names.unsynced) {
            if !is_failing {
                change.apply(&mut names.disk);
            }
        }
    }

    pub fn bytes(&self, inode: u64) -> &[u8] {
        self.files.get(&inode).map_or(&[], |file| &file.cache)
    }

    /// The bytes of `name` as a reader sees them.
    pub fn content(&self, name: &str) -> io::Result<&[u8]> {
        Ok(self.bytes(self.inode(name)?))
    }

    pub fn write(&mut self, inode: u64, offset: usize, bytes: &[u8]) {
        let Some(file) = self.files.get_mut(&inode) else {
            return;
        };
        Arc::make_mut(file).write(offset, bytes, self.sector_bytes, &mut self.time);
    }

    /// Makes the file durable; or, failing, leaves the cache new and the disk old and forgets which
    /// pieces it should have written, as the kernel does.
    pub fn sync(&mut self, inode: u64, is_failing: bool) {
        let Some(file) = self.files.get_mut(&inode) else {
            return;
        };
        if file.pieces.is_empty() && !file.has_unsynced_length {
            return;
        }
        Arc::make_mut(file).sync(is_failing, self.sector_bytes);
    }

    /// How many name changes and sectors are unsynced.
    pub fn unsynced_units(&self) -> usize {
        let sectors = self.files.values().filter(|file| !file.pieces.is_empty());
        let sectors = sectors.map(|file| {
            file.times_of_sectors(self.sector_bytes)
                .iter()
                .filter(|times| !times.is_empty())
                .count()
        });
        self.names.unsynced.len() + sectors.sum::<usize>()
    }

    /// How many images [`Cut::Free`] has at most.
    pub fn free_images(&self) -> u64 {
        let mut images = 1_u64;
        for _ in &self.names.unsynced {
            images = images.saturating_mul(2);
        }
        for file in self.files.values() {
            for times in file.times_of_sectors(self.sector_bytes) {
                images = images.saturating_mul(times.len() as u64 + 1);
            }
            images = images.saturating_mul(if file.has_unsynced_length { 6 } else { 1 });
        }
        images
    }

    /// The disk as it may be after a power cut; nothing in it is unsynced.
    pub fn image(&self, cut: Cut, choices: &mut Choices) -> Media {
        let survivors = match cut {
            Cut::Nothing => Survivors::Nothing,
            Cut::Everything => Survivors::Everything,
            Cut::Free => Survivors::Free,
            Cut::Prefix => self.prefix(choices),
            Cut::AllButOne => Survivors::AllBut(choices.choose(self.unsynced_units().max(1))),
            Cut::OnlyOne => Survivors::Only(choices.choose(self.unsynced_units().max(1))),
        };
        let mut unit = 0;
        let mut names = self.names.disk.clone();
        for change in &self.names.unsynced {
            if survivors.count(unit, &[change.time], choices) == 1 {
                change.apply(&mut names);
            }
            unit += 1;
        }
        let mut image = Media::new(self.sector_bytes);
        image.next_inode = self.next_inode;
        for (&inode, file) in &self.files {
            let data = file.image(self.sector_bytes, &survivors, &mut unit, choices);
            if names.values().any(|named| *named == inode) {
                image.files.insert(inode, data);
            }
        }
        image.names = Arc::new(Names {
            cache: names.clone(),
            disk: names,
            unsynced: Vec::new(),
        });
        image
    }

    fn prefix(&self, choices: &mut Choices) -> Survivors {
        let names = self.names.unsynced.iter().map(|change| change.time);
        let pieces = self
            .files
            .values()
            .flat_map(|file| file.pieces.iter().map(|piece| piece.time));
        let mut times: Vec<u64> = names.chain(pieces).collect();
        times.sort_unstable();
        match times.get(choices.choose(times.len() + 1)) {
            Some(&time) => Survivors::Before(time),
            None => Survivors::Everything,
        }
    }

    /// Flips one bit of what is durable and of what is seen.
    pub fn flip_bit(&mut self, name: &str, offset: usize, bit: u32) -> io::Result<()> {
        let file = self.file_mut(name)?;
        for bytes in [&mut file.cache, &mut file.disk] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= 1 << bit;
            }
        }
        Ok(())
    }

    /// Which sectors of `name` have an older durable version.
    pub fn replaced_versions(&self, name: &str) -> io::Result<usize> {
        let inode = self.inode(name)?;
        Ok(self.files.get(&inode).map_or(0, |file| file.replaced.len()))
    }

    /// Gives a sector of `name` the `version`-th of its file's older durable versions.
    pub fn revert_sector(&mut self, name: &str, version: usize) -> io::Result<()> {
        let file = self.file_mut(name)?;
        let (offset, old) = file.replaced[version].clone();
        for bytes in [&mut file.cache, &mut file.disk] {
            let length = old.len().min(bytes.len().saturating_sub(offset));
            bytes[offset..offset + length].copy_from_slice(&old[..length]);
        }
        Ok(())
    }

    /// Takes a name away for good.
    pub fn lose(&mut self, name: &str) -> io::Result<()> {
        let inode = self.inode(name)?;
        let names = Arc::make_mut(&mut self.names);
        names.unsynced.retain(|change| change.inode != inode);
        names.disk.retain(|_, other| *other != inode);
        names.cache.retain(|_, other| *other != inode);
        Ok(())
    }

    /// Swaps the content of two files.
    pub fn swap(&mut self, one: &str, other: &str) -> io::Result<()> {
        let (one, other) = (self.inode(one)?, self.inode(other)?);
        if let (Some(first), Some(second)) = (self.files.remove(&one), self.files.remove(&other)) {
            self.files.insert(one, second);
            self.files.insert(other, first);
        }
        Ok(())
    }

    /// Gives `name`, new or not, this durable content.
    pub fn replace(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let inode = self.inode(name).or_else(|_| self.create(name))?;
        self.files
            .insert(inode, Arc::new(FileData::holding(content)));
        let names = Arc::make_mut(&mut self.names);
        names.unsynced.retain(|change| change.inode != inode);
        names.disk.insert(name.to_owned(), inode);
        Ok(())
    }

    fn file_mut(&mut self, name: &str) -> io::Result<&mut FileData> {
        let inode = self.inode(name)?;
        let file = self.files.get_mut(&inode).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::make_mut(file))
    }
}
