//! The peers: their names, what they can do, and how each is opened.

pub mod camel_rewrite;
mod camel_scan;
mod fjall;
mod heed;
mod mrecordlog;
mod okaywal;
mod ours;
mod redb;
pub mod redis;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sled;
mod sqlite;

use crate::peer::{Peer, Result, Setup, Survives};
use crate::{index, ring};

/// A peer that can be opened.
pub struct Kind {
    pub name: &'static str,
    /// The sync levels it has, the weakest first.
    pub levels: &'static [Survives],
    /// Whether threads that wait share a sync without help.
    pub shares_syncs: bool,
    /// Whether it does not wait for each add but for a queue of them.
    pub is_in_flight: bool,
    open: fn(&Setup) -> Result<Box<dyn Peer>>,
}

impl Kind {
    pub fn open(&self, setup: &Setup) -> Result<Box<dyn Peer>> {
        std::fs::create_dir_all(&setup.directory)?;
        (self.open)(setup)
    }

    /// Whether the windows are in the store alone.
    pub fn is_index(&self) -> bool {
        self.name.ends_with("-index")
    }

    pub fn can(&self, level: Survives) -> bool {
        self.levels.contains(&level)
    }
}

const LOOSE: &[Survives] = &[Survives::Nothing, Survives::Power];
const UNSYNCED: &[Survives] = &[Survives::Nothing, Survives::Kill];
const FIRM: &[Survives] = &[Survives::Kill, Survives::Power];

const fn kind(
    name: &'static str,
    levels: &'static [Survives],
    open: fn(&Setup) -> Result<Box<dyn Peer>>,
) -> Kind {
    Kind {
        name,
        levels,
        shares_syncs: false,
        is_in_flight: false,
        open,
    }
}

const fn sharing(kind: Kind) -> Kind {
    Kind {
        shares_syncs: true,
        ..kind
    }
}

/// All of them, ours first.
pub static KINDS: &[Kind] = &[
    sharing(kind("idjournal", FIRM, ours::open)),
    Kind {
        is_in_flight: true,
        ..sharing(kind(
            "idjournal-receipts",
            &[Survives::Power],
            ours::open_in_flight,
        ))
    },
    sharing(kind("okaywal", &[Survives::Power], okaywal::open)),
    kind("mrecordlog", UNSYNCED, mrecordlog::open),
    kind("fjall", FIRM, ring::open::<fjall::Fjall>),
    kind("fjall-index", FIRM, index::open::<fjall::Fjall>),
    #[cfg(feature = "rocksdb")]
    sharing(kind("rocksdb", FIRM, ring::open::<rocksdb::RocksDb>)),
    #[cfg(feature = "rocksdb")]
    kind("rocksdb-index", FIRM, index::open::<rocksdb::RocksDb>),
    kind("redb", LOOSE, ring::open::<redb::Redb>),
    kind("redb-index", LOOSE, index::open::<redb::Redb>),
    kind("sled", UNSYNCED, ring::open::<sled::Sled>),
    kind("lmdb", FIRM, ring::open::<heed::Heed>),
    kind("lmdb-index", FIRM, index::open::<heed::Heed>),
    kind("sqlite", FIRM, ring::open::<sqlite::Sqlite>),
    kind("sqlite-index", FIRM, index::open::<sqlite::Sqlite>),
    sharing(kind("redis", FIRM, redis::open)),
    kind("camel-rewrite", LOOSE, camel_rewrite::open),
    kind("camel-rewrite-2x", LOOSE, camel_rewrite::open_with_slack),
    kind("camel-scan", FIRM, camel_scan::open),
];

pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
