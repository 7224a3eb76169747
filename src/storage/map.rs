//! Memory that the kernel has a say in: a file mapped to be written by copying into the map, and a
//! page that a forked child finds empty. The only unsafe code of this crate.
//!
//! Invariants: (1) the mapping stays where it is until this value is dropped, so that a write needs
//! no lock; giving the map up unlocks and drops its pages, not its addresses. (2) The memory is
//! only touched as whole atomic words, so that not even wrong calls make a data race of it. (3) It
//! is never read but to complete a word; reading is done with positioned reads.
//!
//! What no code can prevent: if a foreign hand cuts the file or the device fails, a store into the
//! map ends the process (SIGBUS). For the journal that is a kill like any other.

#![allow(
    unsafe_code,
    reason = "a memory map is memory that others see, which only unsafe code uses"
)]

#[cfg(target_os = "linux")]
pub(super) use linux::Map;
#[cfg(target_os = "linux")]
use linux::WipedPage;
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Map, WipedPage};

/// The process that made it, told apart from a child that it forks since.
pub(crate) struct Origin {
    /// None where the system has no such page.
    page: Option<WipedPage>,
    process: u32,
}

impl Origin {
    pub(crate) fn new() -> Origin {
        Origin {
            page: WipedPage::new(),
            process: std::process::id(),
        }
    }

    /// Whether this is a forked child of the process that made it: one load, no system call.
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        match &self.page {
            Some(page) => page.is_wiped(),
            None => std::process::id() != self.process,
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::slice;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use memmap2::{Advice, MmapAsRawDesc, MmapOptions, MmapRaw, UncheckedAdvice};

    use rustix::mm::{Advice as LinuxAdvice, madvise};

    const WORD_BYTES: usize = size_of::<u64>();
    /// Rounded up to a page by the system.
    const PAGE_BYTES: usize = 4096;

    /// The whole of one file, shared with the page cache and writable.
    pub(in crate::storage) struct Map {
        raw: MmapRaw,
        is_used: AtomicBool,
    }

    impl Map {
        /// Maps the first `bytes` bytes of `file`, which must be all; not used for writes yet.
        pub(in crate::storage) fn new(file: impl MmapAsRawDesc, bytes: u64) -> io::Result<Map> {
            let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
            if bytes == 0 || !bytes.is_multiple_of(WORD_BYTES) {
                return Err(invalid(
                    "a file to be mapped must have a multiple of 8 bytes",
                ));
            }
            let raw = MmapOptions::new().len(bytes).map_raw(file)?;
            Ok(Map {
                raw,
                is_used: AtomicBool::new(false),
            })
        }

        /// Makes every page present and writable, then lets writes go through the map.
        ///
        /// The kernel answers here with an error for what would be a SIGBUS at the first store. It
        /// holds every page for dirty after this: the next sync writes the whole file.
        pub(in crate::storage) fn begin(&self) -> io::Result<()> {
            self.raw.advise(Advice::PopulateWrite).map_err(|error| {
                if error.kind() != io::ErrorKind::InvalidInput {
                    return error;
                }
                let why = "mapped writes need MADV_POPULATE_WRITE (Linux 5.14)";
                io::Error::new(io::ErrorKind::Unsupported, why)
            })?;
            // Locked pages spare the append path a fault; the limit on them is often too low.
            let _ = self.raw.lock();
            self.is_used.store(true, Ordering::Release);
            Ok(())
        }

        /// Makes every page writable at once, which a sync has ended: else the first store into
        /// each waits for the file system, on some for as long as that is busy with a sync.
        pub(in crate::storage) fn make_writable(&self) {
            // Without it the stores do that themselves.
            let _ = self.raw.advise(Advice::PopulateWrite);
        }

        /// Ends writes through the map and gives its pages back; what was written stays written.
        pub(in crate::storage) fn end(&self) {
            if !self.is_used.swap(false, Ordering::AcqRel) {
                return;
            }
            let _ = self.raw.unlock();
            // SAFETY: this may change what the memory holds only where the mapping is private. This
            // one is shared: its content is that of the page cache, before and after. A thread that
            // is still in `write_at` brings the page back by its store.
            let _ = unsafe { self.raw.unchecked_advise(UncheckedAdvice::DontNeed) };
        }

        pub(in crate::storage) fn is_used(&self) -> bool {
            self.is_used.load(Ordering::Acquire)
        }

        pub(in crate::storage) fn bytes(&self) -> usize {
            self.raw.len()
        }

        /// Copies all of `bytes` to `offset`; nothing is written if a part would lie outside.
        ///
        /// The order of calls that overlap is for the callers to see to; the journal's append lock
        /// lets one thread write at a time, each byte once. Records begin and end at a multiple of
        /// eight, so they are plain stores, as cheap as a plain copy.
        #[inline]
        pub(in crate::storage) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
            let end = offset.checked_add(bytes.len() as u64);
            if end.is_none_or(|end| end > self.raw.len() as u64) {
                return Err(invalid("a write outside of the mapped file"));
            }
            let Ok(offset) = usize::try_from(offset) else {
                return Err(invalid("a write outside of the mapped file"));
            };
            let mut words = self.words().get(offset / WORD_BYTES..).unwrap_or_default();
            let mut rest = bytes;
            let within = offset % WORD_BYTES;
            if within != 0
                && let Some((word, following)) = words.split_first()
            {
                let (head, tail) = rest.split_at(rest.len().min(WORD_BYTES - within));
                merge(word, within, head);
                (words, rest) = (following, tail);
            }
            let (whole, tail) = rest.as_chunks::<WORD_BYTES>();
            for (chunk, word) in whole.iter().zip(words) {
                word.store(u64::from_le_bytes(*chunk).to_le(), Ordering::Relaxed);
            }
            if !tail.is_empty()
                && let Some(word) = words.get(whole.len())
            {
                merge(word, 0, tail);
            }
            Ok(bytes.len())
        }

        #[inline]
        fn words(&self) -> &[AtomicU64] {
            let first = self.raw.as_mut_ptr().cast::<AtomicU64>();
            // SAFETY: `first` is the beginning of a mapping of `raw.len()` bytes, readable and
            // writable, aligned to a page, which `raw` keeps where it is until it is dropped, later
            // than the borrow of `self` that the result carries. Any content is a valid word. All
            // of this process go to this memory through this function, hence atomically; the kernel
            // and other processes are no part of the memory model.
            unsafe { slice::from_raw_parts(first, self.raw.len() / WORD_BYTES) }
        }
    }

    /// A page that holds a word in the process that made it, and zeros in each child it forks.
    pub(super) struct WipedPage {
        raw: MmapRaw,
    }

    impl WipedPage {
        /// None if the system does not wipe pages (before Linux 4.14).
        pub(super) fn new() -> Option<WipedPage> {
            let page = WipedPage {
                raw: MmapRaw::from(MmapOptions::new().len(PAGE_BYTES).map_anon().ok()?),
            };
            // SAFETY: the range is the whole of a private anonymous mapping that this value owns.
            // The advice changes nothing in this process.
            let wiped = unsafe {
                let first = page.raw.as_mut_ptr().cast();
                madvise(first, page.raw.len(), LinuxAdvice::LinuxWipeOnFork)
            };
            wiped.ok()?;
            page.word().store(1, Ordering::Relaxed);
            Some(page)
        }

        #[inline]
        pub(super) fn is_wiped(&self) -> bool {
            self.word().load(Ordering::Relaxed) == 0
        }

        #[inline]
        fn word(&self) -> &AtomicU64 {
            // SAFETY: as in `Map::words`; the mapping is private, and only this function leads to
            // it. A child has a copy of its own, which is wiped before its first instruction.
            unsafe { &*self.raw.as_mut_ptr().cast::<AtomicU64>() }
        }
    }

    /// Puts `part` into `word` from byte `within` on; its other bytes stay.
    #[cold]
    fn merge(word: &AtomicU64, within: usize, part: &[u8]) {
        let merged = |old: u64| {
            let mut bytes = u64::from_le(old).to_le_bytes();
            bytes
                .iter_mut()
                .skip(within)
                .zip(part)
                .for_each(|(to, from)| *to = *from);
            Some(u64::from_le_bytes(bytes).to_le())
        };
        // It never refuses, so it cannot fail.
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, merged);
    }

    #[cold]
    fn invalid(why: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, why)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    /// There is no value of this type: only Linux wipes pages.
    pub(in crate::storage) enum WipedPage {}

    impl WipedPage {
        pub(in crate::storage) fn new() -> Option<WipedPage> {
            None
        }

        pub(in crate::storage) fn is_wiped(&self) -> bool {
            match *self {}
        }
    }

    /// There is no value of this type: elsewhere than on Linux all writes are positioned.
    pub(in crate::storage) enum Map {}

    impl Map {
        pub(in crate::storage) fn new<F>(_file: F, _bytes: u64) -> io::Result<Map> {
            let why = "mapped writes are for Linux only";
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }

        pub(in crate::storage) fn begin(&self) -> io::Result<()> {
            match *self {}
        }

        pub(in crate::storage) fn make_writable(&self) {
            match *self {}
        }

        pub(in crate::storage) fn end(&self) {
            match *self {}
        }

        pub(in crate::storage) fn is_used(&self) -> bool {
            match *self {}
        }

        pub(in crate::storage) fn bytes(&self) -> usize {
            match *self {}
        }

        pub(in crate::storage) fn write_at(&self, _: u64, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }
    }
}
