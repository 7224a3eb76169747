//! What the machine does without the engine: the limits that figures are compared with.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use memmap2::MmapMut;

use crate::Result;
use crate::ids::{BATCH, Source};
use crate::rounds::median;

/// A usual record of a 36-byte ID, and one with a mark.
pub(crate) const RECORD_BYTES: usize = 56;
const MARKED_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 4 << 20;
const FILES: usize = 4;

/// Records per second that one thread checksums and copies into a buffer, and does nothing else.
///
/// The median of so many times 20 ms.
pub(crate) fn copies(times: usize) -> f64 {
    let mut segment = vec![0; SEGMENT_BYTES];
    let mut source = Source::new(0);
    let ids = source.batch(BATCH);
    let chunk = |segment: &mut Vec<u8>| {
        let (began, mut count, mut offset) = (Instant::now(), 0_usize, 0);
        while began.elapsed() < Duration::from_millis(20) {
            for id in ids {
                let mut record = [0; RECORD_BYTES];
                record[8..16].copy_from_slice(&count.to_le_bytes());
                record[20..].copy_from_slice(id);
                let checksum = crc32fast::hash(&record[4..]);
                record[..4].copy_from_slice(&checksum.to_le_bytes());
                segment[offset..offset + RECORD_BYTES].copy_from_slice(&record);
                offset += RECORD_BYTES;
                if offset + RECORD_BYTES > SEGMENT_BYTES {
                    offset = 0;
                }
                count += 1;
            }
        }
        black_box(segment);
        count as f64 / began.elapsed().as_secs_f64()
    };
    median((0..times).map(|_| chunk(&mut segment)).collect())
}

/// A file like a new segment: zeros written in calls of 4 KiB, and synced.
fn zeroed(path: &Path) -> Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    for page in 0..SEGMENT_BYTES / 4096 {
        file.write_all_at(&[0; 4096], (page * 4096) as u64)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Writes to files like segments, one after the other, over and over.
pub(crate) struct Writing {
    files: Vec<File>,
    bytes: usize,
    file: usize,
    offset: usize,
}

impl Writing {
    /// Of the size of a record that waits for its sync.
    pub(crate) fn marked(directory: &Path) -> Result<Writing> {
        Writing::new(directory, MARKED_BYTES)
    }

    /// Of the size of a usual record.
    pub(crate) fn usual(directory: &Path) -> Result<Writing> {
        Writing::new(directory, RECORD_BYTES)
    }

    fn new(directory: &Path, bytes: usize) -> Result<Writing> {
        let names = (0..FILES).map(|file| directory.join(format!("written-{file}")));
        Ok(Writing {
            files: names.map(|path| zeroed(&path)).collect::<Result<_>>()?,
            bytes,
            file: 0,
            offset: 0,
        })
    }

    /// One positioned write; the file that it went to.
    fn write(&mut self) -> Result<&File> {
        if self.offset + self.bytes > SEGMENT_BYTES {
            self.offset = 0;
            self.file = (self.file + 1) % FILES;
        }
        let bytes = [1; MARKED_BYTES];
        let file = &self.files[self.file];
        file.write_all_at(&bytes[..self.bytes], self.offset as u64)?;
        self.offset += self.bytes;
        Ok(file)
    }

    /// Writes per second.
    pub(crate) fn writes(&mut self, turn: Duration) -> Result<f64> {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < turn {
            for _ in 0..1_000 {
                self.write()?;
            }
            count += 1_000;
        }
        Ok(f64::from(count) / began.elapsed().as_secs_f64())
    }

    /// Writes per second when each is synced.
    pub(crate) fn synced(&mut self, turn: Duration) -> Result<(f64, u32)> {
        let (began, mut count) = (Instant::now(), 0);
        while began.elapsed() < turn {
            self.write()?.sync_data()?;
            count += 1;
        }
        Ok((f64::from(count) / began.elapsed().as_secs_f64(), count))
    }

    /// One write and its sync.
    pub(crate) fn sync_once(&mut self) -> Result<()> {
        Ok(self.write()?.sync_data()?)
    }
}

/// Segments that are filled through a map and synced, one after the other, over and over.
pub(crate) struct Segments {
    maps: Vec<MmapMut>,
    content: Vec<u8>,
    next: usize,
}

impl Segments {
    pub(crate) fn new(directory: &Path) -> Result<Segments> {
        let map = |number: usize| -> Result<MmapMut> {
            let file = zeroed(&directory.join(format!("mapped-{number}")))?;
            Ok(map(&file)?)
        };
        Ok(Segments {
            maps: (0..FILES).map(map).collect::<Result<_>>()?,
            content: vec![1; SEGMENT_BYTES],
            next: 0,
        })
    }

    /// Bytes per second.
    pub(crate) fn rate(&mut self, turn: Duration) -> Result<f64> {
        let (began, mut bytes) = (Instant::now(), 0);
        while began.elapsed() < turn {
            let map = &mut self.maps[self.next % FILES];
            map.copy_from_slice(&self.content);
            map.flush()?;
            self.next += 1;
            bytes += SEGMENT_BYTES;
        }
        Ok(bytes as f64 / began.elapsed().as_secs_f64())
    }
}

#[allow(unsafe_code, reason = "a map is unsafe: others might cut the file")]
fn map(file: &File) -> std::io::Result<MmapMut> {
    // Safety: the file is in a directory that only this process knows, and is never cut.
    unsafe { MmapMut::map_mut(file) }
}
