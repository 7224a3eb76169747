//! The order of writes and syncs, watched as they are made: needs no crash to see a fault, and
//! names the guilty call.
//!
//! 1. No acknowledgement before a sync that covers the record.
//! 2. No slot of the chain gets another life before the release that freed it, and everything
//!    written before that, is durable.
//! 3. No slot is used before its name is durable.

use super::media::Media;

/// What was seen since the disk was made, and the first fault in it.
#[derive(Clone, Default)]
pub struct Order {
    /// The time of each release and the oldest segment that it leaves.
    releases: Vec<(u64, u64)>,
    /// The records of the calls that nobody was told the end of yet: file and time.
    untold: Vec<(u64, u64)>,
    is_call_fresh: bool,
    fault: Option<String>,
}

const SEGMENT_MAGIC: &[u8] = b"idjsegmt";
const STORE_MAGIC: &[u8] = b"idjstore";
const NUMBER_OFFSET: usize = 48;
const RELEASE_KIND: u8 = 16;
const RELEASE_BYTES: usize = 24;

impl Order {
    /// Looks at a write that is about to be made.
    pub fn see_write(&mut self, media: &Media, inode: u64, offset: usize, bytes: &[u8]) {
        if bytes.starts_with(SEGMENT_MAGIC) {
            if offset == 0 {
                self.see_header(media, inode, bytes);
            }
            return;
        }
        let kind = bytes.get(4).copied().unwrap_or(0);
        if bytes.starts_with(STORE_MAGIC) || kind == 0 {
            return;
        }
        if kind == RELEASE_KIND && bytes.len() == RELEASE_BYTES {
            self.releases.push((media.time(), number_at(bytes, 16)));
        }
        if self.is_call_fresh {
            self.is_call_fresh = false;
            self.untold.push((inode, media.time()));
        }
    }

    fn see_header(&mut self, media: &Media, inode: u64, bytes: &[u8]) {
        let name = media.name(inode);
        let is_own = name.starts_with("slot-") && !name.contains('.');
        if is_own && media.durable_inode(&name) != Some(inode) {
            self.set(format!("{name} is used before its name is durable"));
        }
        let content = media.bytes(inode);
        let (before, after) = (
            number_at(content, NUMBER_OFFSET),
            number_at(bytes, NUMBER_OFFSET),
        );
        if !content.starts_with(SEGMENT_MAGIC) || before == after {
            return;
        }
        let release = self.releases.iter().find(|(_, oldest)| *oldest > before);
        let Some(&(time, oldest)) = release else {
            return;
        };
        if media
            .unsynced_since()
            .is_some_and(|first| first <= time + 1)
        {
            self.set(format!(
                "{name} goes from segment {before} to {after}, and not everything up to the \
                 release of all before {oldest} is durable"
            ));
        }
    }

    /// A call of the store begins.
    pub fn begin_call(&mut self) {
        self.is_call_fresh = true;
    }

    /// It ended; its record counts only if it has a receipt.
    pub fn end_call(&mut self, has_receipt: bool) {
        if !has_receipt && !self.is_call_fresh {
            self.untold.pop();
        }
        self.is_call_fresh = false;
    }

    /// All calls up to now are told that their records are durable.
    pub fn acknowledge(&mut self, media: &Media) {
        for (inode, time) in std::mem::take(&mut self.untold) {
            if media
                .unsynced_of(inode)
                .is_some_and(|first| first <= time + 1)
            {
                self.set(format!(
                    "acknowledged before a sync of {}",
                    media.name(inode)
                ));
            }
        }
    }

    /// The first fault.
    pub fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    fn set(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }
}

fn number_at(bytes: &[u8], offset: usize) -> u64 {
    let number = bytes.get(offset..offset + 8);
    number.map_or(0, |number| u64::from_le_bytes(number.try_into().unwrap()))
}
