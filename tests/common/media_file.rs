//! One file of the simulated disk: what is seen, what is durable, and the unsynced pieces between.

use std::sync::Arc;

use super::generator::Choices;

#[derive(Clone, Default)]
pub struct FileData {
    pub cache: Vec<u8>,
    pub disk: Vec<u8>,
    pub pieces: Vec<Piece>,
    piece_bytes: Vec<u8>,
    pub has_unsynced_length: bool,
    /// The durable versions of sectors that later syncs replaced, oldest first.
    pub replaced: Vec<(usize, Arc<[u8]>)>,
}

#[derive(Clone, Copy)]
pub struct Piece {
    pub offset: usize,
    pub bytes: usize,
    start: usize,
    pub time: u64,
}

/// What survives, decided before the units are walked; a unit is a name change or a sector.
pub enum Survivors {
    Nothing,
    Everything,
    Before(u64),
    Free,
    AllBut(usize),
    Only(usize),
}

impl Survivors {
    /// How many of the changes at these times survive in the `unit`-th unit.
    pub fn count(&self, unit: usize, times: &[u64], choices: &mut Choices) -> usize {
        match self {
            Survivors::Nothing => 0,
            Survivors::Everything => times.len(),
            Survivors::Before(end) => times.iter().filter(|time| *time < end).count(),
            Survivors::Free => choices.choose(times.len() + 1),
            Survivors::AllBut(one) if unit == *one => choices.choose(times.len()),
            Survivors::AllBut(_) => times.len(),
            Survivors::Only(one) if unit == *one => 1 + choices.choose(times.len()),
            Survivors::Only(_) => 0,
        }
    }
}

impl FileData {
    /// A file with this durable content.
    pub fn holding(content: &[u8]) -> FileData {
        FileData {
            cache: content.to_vec(),
            disk: content.to_vec(),
            ..FileData::default()
        }
    }

    pub fn write(&mut self, offset: usize, bytes: &[u8], sector_bytes: usize, time: &mut u64) {
        if self.cache.len() < offset + bytes.len() {
            self.cache.resize(offset + bytes.len(), 0);
            self.has_unsynced_length = true;
        }
        self.cache[offset..offset + bytes.len()].copy_from_slice(bytes);
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done;
            let length = (sector_bytes - at % sector_bytes).min(bytes.len() - done);
            *time += 1;
            let start = self.piece_bytes.len();
            self.piece_bytes
                .extend_from_slice(&bytes[done..done + length]);
            self.pieces.push(Piece {
                offset: at,
                bytes: length,
                start,
                time: *time,
            });
            done += length;
        }
    }

    pub fn sync(&mut self, is_failing: bool, sector_bytes: usize) {
        let pieces = std::mem::take(&mut self.pieces);
        let bytes = std::mem::take(&mut self.piece_bytes);
        if !is_failing {
            self.keep_replaced(&pieces, sector_bytes);
            if self.has_unsynced_length {
                self.disk.resize(self.cache.len(), 0);
            }
            for piece in &pieces {
                self.disk
                    .resize(self.disk.len().max(piece.offset + piece.bytes), 0);
                self.disk[piece.offset..piece.offset + piece.bytes]
                    .copy_from_slice(&bytes[piece.start..piece.start + piece.bytes]);
            }
        }
        self.has_unsynced_length = false;
    }

    pub fn times_of_sectors(&self, sector_bytes: usize) -> Vec<Vec<u64>> {
        if self.pieces.is_empty() {
            return Vec::new();
        }
        let mut sectors = vec![Vec::new(); self.cache.len().div_ceil(sector_bytes)];
        for piece in &self.pieces {
            sectors[piece.offset / sector_bytes].push(piece.time);
        }
        sectors
    }

    fn keep_replaced(&mut self, pieces: &[Piece], sector_bytes: usize) {
        let mut sectors: Vec<usize> = pieces
            .iter()
            .map(|piece| piece.offset / sector_bytes)
            .collect();
        sectors.sort_unstable();
        sectors.dedup();
        for sector in sectors {
            let offset = sector * sector_bytes;
            let end = self.disk.len().min(offset + sector_bytes);
            if let Some(old) = self.disk.get(offset..end).filter(|old| !old.is_empty()) {
                self.replaced.push((offset, old.into()));
            }
        }
        let surplus = self.replaced.len().saturating_sub(REPLACED_MAX);
        self.replaced.drain(..surplus);
    }

    pub fn image(
        self: &Arc<FileData>,
        sector_bytes: usize,
        survivors: &Survivors,
        unit: &mut usize,
        choices: &mut Choices,
    ) -> Arc<FileData> {
        if self.pieces.is_empty() && !self.has_unsynced_length && self.cache == self.disk {
            return Arc::clone(self);
        }
        let mut keep = Vec::new();
        for times in self.times_of_sectors(sector_bytes) {
            let is_unsynced = !times.is_empty();
            keep.push(if is_unsynced {
                survivors.count(*unit, &times, choices)
            } else {
                0
            });
            *unit += usize::from(is_unsynced);
        }
        let mut kept = self.pieces.clone();
        kept.retain(|piece| {
            let left = &mut keep[piece.offset / sector_bytes];
            let is_kept = *left > 0;
            *left = left.saturating_sub(1);
            is_kept
        });
        let (length, filler) = self.image_length(&kept, survivors, choices);
        let mut disk = self.disk.clone();
        disk.resize(length, filler);
        for piece in kept {
            let bytes = piece.bytes.min(length.saturating_sub(piece.offset));
            if bytes > 0 {
                disk[piece.offset..piece.offset + bytes]
                    .copy_from_slice(&self.piece_bytes[piece.start..piece.start + bytes]);
            }
        }
        let replaced = self.replaced.clone();
        Arc::new(FileData {
            cache: disk.clone(),
            disk,
            replaced,
            ..FileData::default()
        })
    }

    /// The length after a power cut and what unwritten bytes of a longer file show.
    fn image_length(
        &self,
        kept: &[Piece],
        survivors: &Survivors,
        choices: &mut Choices,
    ) -> (usize, u8) {
        let (synced, current) = (self.disk.len(), self.cache.len());
        if !self.has_unsynced_length || synced >= current {
            let ends = kept.iter().map(|piece| piece.offset + piece.bytes);
            return (ends.max().unwrap_or(0).max(synced), 0);
        }
        match survivors {
            Survivors::Nothing => (synced, 0),
            Survivors::Everything => (current, 0),
            Survivors::Before(_) => {
                let ends = kept.iter().map(|piece| piece.offset + piece.bytes);
                (ends.max().unwrap_or(0).max(synced), 0)
            }
            Survivors::Free | Survivors::AllBut(_) | Survivors::Only(_) => {
                let between = synced + (current - synced) / 2;
                let length = [current, synced, between][choices.choose(3)];
                (length, [0, 0xa5][choices.choose(2)])
            }
        }
    }
}

const REPLACED_MAX: usize = 64;
