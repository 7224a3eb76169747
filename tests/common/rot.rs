//! Rot: one damage of what is durable, and what a store may make of it.
//!
//! After a clean close or a recovery: the same answers, or an error that says where. After a power
//! cut the newest group, which no later record vouches for, may also be gone; where a whole sector
//! is hit, whatever of the end shares it.

use std::ops::RangeInclusive;

use idjournal::{Error, Store};

use super::crash::Run;
use super::generator::Generator;
use super::media::Media;
use super::runner::chain;
use super::simulated::{CallKind, Effect, Fault, SimulatedDisk};

/// A damage, for the report of a failure.
#[derive(Clone, Debug)]
pub enum Damage {
    Flip {
        name: String,
        offset: usize,
        bit: u32,
    },
    Revert {
        name: String,
        version: usize,
    },
    Move {
        from: (String, usize),
        to: (String, usize),
        bytes: usize,
    },
    Zeros {
        name: String,
        offset: usize,
    },
    Swap {
        one: String,
        other: String,
    },
    Double {
        from: String,
        over: String,
    },
    Missing {
        name: String,
    },
    Unreadable {
        read: u64,
    },
}

impl Damage {
    /// One that this disk can have; at times none.
    pub fn choose(media: &Media, generator: &mut Generator) -> Option<Damage> {
        let mut names = media.names();
        names.retain(|name| name == "store" || name.starts_with("slot-"));
        if names.is_empty() {
            return None;
        }
        let mut any = || names[generator.below(names.len())].clone();
        let (one, other) = (any(), any());
        let length = |name: &str| media.content(name).map_or(0, <[u8]>::len).max(8);
        let mut place = |name: String, unit: usize| {
            let offset = generator.below(length(&name) / unit) * unit;
            (name, offset)
        };
        let sector = media.sector_bytes();
        let from = place(one.clone(), 8);
        let to = place(other.clone(), 8);
        let (zeroed, zeros_at) = place(one.clone(), sector.min(length(&one)));
        let (flipped, offset) = place(one.clone(), 1);
        Some(match generator.below(20) {
            0..8 => {
                let bit = generator.below(8) as u32;
                Damage::Flip {
                    name: flipped,
                    offset,
                    bit,
                }
            }
            8..12 => {
                let versions = media.replaced_versions(&one).unwrap_or(0);
                let version = generator.below(versions.max(1));
                (versions > 0).then_some(Damage::Revert { name: one, version })?
            }
            12..14 => {
                let bytes = [16, 24, 32, 48, 64, sector][generator.below(6)];
                Damage::Move { from, to, bytes }
            }
            14 => Damage::Zeros {
                name: zeroed,
                offset: zeros_at,
            },
            15 => Damage::Swap { one, other },
            16 => Damage::Double {
                from: one,
                over: other,
            },
            17..19 => Damage::Missing { name: one },
            _ => Damage::Unreadable {
                read: 1 + generator.below(40) as u64,
            },
        })
    }

    /// How many of the newest groups may go with it: a file never.
    fn groups(&self) -> usize {
        match self {
            Damage::Flip { .. } => 1,
            Damage::Revert { .. } | Damage::Move { .. } | Damage::Zeros { .. } => {
                RECORDS_OF_SECTOR_MAX
            }
            _ => 0,
        }
    }

    fn apply(&self, media: &mut Media) -> std::io::Result<()> {
        match self {
            Damage::Flip { name, offset, bit } => media.flip_bit(name, *offset, *bit),
            Damage::Revert { name, version } => media.revert_sector(name, *version),
            Damage::Move { from, to, bytes } => {
                let source = media.content(&from.0)?;
                let end = source.len().min(from.1 + bytes);
                let piece = source[from.1.min(end)..end].to_vec();
                overwrite(media, to, &piece)
            }
            Damage::Zeros { name, offset } => {
                let zeros = vec![0; media.sector_bytes()];
                overwrite(media, &(name.clone(), *offset), &zeros)
            }
            Damage::Swap { one, other } => media.swap(one, other),
            Damage::Double { from, over } => {
                let content = media.content(from)?.to_vec();
                media.replace(over, &content)
            }
            Damage::Missing { name } => media.lose(name),
            Damage::Unreadable { .. } => Ok(()),
        }
    }
}

/// Writes over what is durable, within the file.
fn overwrite(media: &mut Media, to: &(String, usize), piece: &[u8]) -> std::io::Result<()> {
    let mut content = media.content(&to.0)?.to_vec();
    for (byte, new) in content.iter_mut().skip(to.1).zip(piece) {
        *byte = *new;
    }
    media.replace(&to.0, &content)
}

/// The most records that a sector holds: none is shorter than 16 bytes.
const RECORDS_OF_SECTOR_MAX: usize = 512 / 16 + 1;

impl Run {
    /// Damages what is durable and opens it. `is_whole`: it was closed cleanly or recovered, so
    /// that not even the newest group may go.
    pub fn rot(
        &mut self,
        media: &Media,
        legal: RangeInclusive<usize>,
        is_whole: bool,
        generator: &mut Generator,
    ) -> Result<(), String> {
        let mut media = media.clone();
        let Some(damage) = Damage::choose(&media, generator) else {
            return Ok(());
        };
        let failed = |error| format!("{damage:?} cannot be: {error}");
        damage.apply(&mut media).map_err(failed)?;
        let least = match is_whole {
            true => *legal.start(),
            false => self.without_last_groups(*legal.start(), damage.groups()),
        };
        self.counts.states += 1;
        self.counts.rots += 1;
        let disk = SimulatedDisk::holding(media);
        if let Damage::Unreadable { read } = damage {
            disk.fail(Fault {
                kind: CallKind::Read,
                nth: read,
                is_lasting: false,
                effect: Effect::Fails(5),
            });
        }
        match Store::open_on(disk.clone(), self.options_early(), &mut |_| {}) {
            Ok(store) => {
                let found = self.found_in(&store, least..=*legal.end());
                found.map_err(|text| format!("{damage:?}: {text}"))?;
                Ok(())
            }
            Err(error) => {
                self.counts.refusals += 1;
                let is_unreadable = matches!(damage, Damage::Unreadable { .. });
                let is_named = match &error {
                    Error::Io { .. } => is_unreadable,
                    // Settings were recorded at this open, and upkeep read for them.
                    Error::Poisoned { .. } | Error::OutcomeUnknown { .. } => is_unreadable,
                    Error::Damaged { .. } | Error::NewerFormat { .. } => true,
                    Error::NotAStore { .. } => true,
                    _ => false,
                };
                // What is rewritten is read once more, so that a read may also fail in between.
                if is_named && (is_unreadable || disk.count(CallKind::Write) == 0) {
                    return Ok(());
                }
                let writes = disk.count(CallKind::Write);
                Err(format!("{damage:?}, {writes} writes: {}", chain(&error)))
            }
        }
    }

    /// The state before the last groups that were acknowledged.
    fn without_last_groups(&self, acknowledged: usize, groups: usize) -> usize {
        let mut left = groups;
        let mut least = acknowledged;
        for &earlier in self.acknowledged.iter().rev() {
            if left > 0 && earlier < least {
                // A group without a change has no record, and vouches for nothing.
                left -= usize::from(self.has_record_between(earlier, least));
                least = earlier;
            }
        }
        least
    }
}
