//! The checking half of the crash loop: cut the power at a snapshot, recover, compare, cut again.

use std::ops::RangeInclusive;

use idjournal::Store;

use super::crash::Run;
use super::crash_found::AtTime;
use super::generator::{Choices, Generator};
use super::media::{Cut, Media};
use super::recorded::Recorded;
use super::runner::chain;
use super::simulated::{Progress, SimulatedDisk, Snapshot};

const IMAGES: usize = 8;
/// The share of a recovery's calls of the disk at which the power is cut again.
const WITHIN_PER_CENT: usize = 8;

/// What a next life may begin with.
pub struct Start {
    pub media: Media,
    /// The states that it may be in if the power is cut before it is open again; the last is the
    /// one that it shows otherwise.
    pub legal: RangeInclusive<usize>,
}

impl Run {
    /// Recovers what power cuts leave of each snapshot; returns an image to go on from.
    pub fn check_all(
        &mut self,
        snapshots: Vec<Snapshot>,
        generator: &mut Generator,
    ) -> Result<Option<Start>, String> {
        self.at_time = AtTime::default();
        let mut next = None;
        let mut weights = 0;
        for snapshot in snapshots {
            let call = snapshot.call;
            let place = |text| format!("snapshot before call {call} of the disk: {text}");
            // After a failure there are few snapshots, and much to be found.
            let weight = match snapshot.media.unsynced_units() {
                _ if snapshot.is_after_failure => 1_000,
                0 => 1,
                _ => 8,
            };
            for start in self.check(&snapshot, generator).map_err(place)? {
                weights += weight;
                if generator.below(weights) < weight {
                    next = Some(start);
                }
            }
        }
        Ok(next)
    }

    fn check(
        &mut self,
        snapshot: &Snapshot,
        generator: &mut Generator,
    ) -> Result<Vec<Start>, String> {
        let Progress {
            acknowledged,
            returned,
            issued,
        } = snapshot.progress;
        let mut images = Vec::new();
        for _ in 0..IMAGES {
            let mut choices = Choices::random(generator.next());
            let cut = Cut::any(&mut choices);
            let image = snapshot.media.image(cut, &mut choices);
            let place = |text| format!("{cut:?}, acknowledged {acknowledged}: {text}");
            let share = if generator.per_cent(20) {
                WITHIN_PER_CENT
            } else {
                0
            };
            let (after, inside, reached) = self
                .recover(image.clone(), acknowledged..=issued, share)
                .map_err(place)?;
            self.count_gap(&snapshot.media, &image);
            // What a cut left of the life before may go as well, to states that are not known here,
            // until a record of this life vouches for it.
            let is_vouched = acknowledged > self.base || !self.is_later_life;
            let is_opened = snapshot.call >= self.opened_at;
            if is_opened && generator.per_cent(self.geometry.rots) && is_vouched {
                self.rot(&image, acknowledged..=issued, false, generator)
                    .map_err(place)?;
            }
            if generator.per_cent(8) {
                // What was shown is vouched for.
                let shown = after.image(Cut::Nothing, &mut Choices::random(0));
                self.rot(&shown, reached..=reached, true, generator)
                    .map_err(place)?;
            }
            self.counts.between += u64::from(reached < issued && reached > acknowledged);
            let is_killed = generator.per_cent(30).then_some(after);
            self.crash_again(inside, is_killed, reached..=reached, generator)
                .map_err(place)?;
            images.push(Start {
                media: image,
                legal: reached..=reached,
            });
        }
        if snapshot.is_after_failure || generator.per_cent(20) {
            let place = |text| format!("killed, returned {returned}: {text}");
            let killed = snapshot.media.clone();
            self.counts.kills += 1;
            let (after, inside, reached) = self
                .recover(killed, returned..=issued, WITHIN_PER_CENT)
                .map_err(place)?;
            // What a kill left was not all durable: a cut before it is shown may take it back.
            let within = acknowledged..=reached;
            self.crash_again(inside, Some(after.clone()), within.clone(), generator)
                .map_err(place)?;
            images.push(Start {
                media: after,
                legal: reached..=reached,
            });
            images.push(Start {
                media: snapshot.media.clone(),
                legal: within,
            });
        }
        Ok(images)
    }

    /// Recovers every image that a power cut can leave of the snapshots that have few of them.
    pub fn list_all(&mut self, snapshots: Vec<Snapshot>, images_max: u64) -> Result<u64, String> {
        let mut listed = 0;
        for snapshot in snapshots {
            if snapshot.media.free_images() > images_max {
                continue;
            }
            listed += 1;
            let Progress {
                acknowledged,
                issued,
                ..
            } = snapshot.progress;
            let mut choices = Choices::listed();
            loop {
                let image = snapshot.media.image(Cut::Free, &mut choices);
                self.recover(image, acknowledged..=issued, 0)
                    .map_err(|text| {
                        let call = snapshot.call;
                        format!("before call {call}, choices {choices:?}: {text}")
                    })?;
                if !choices.advance() {
                    break;
                }
            }
        }
        Ok(listed)
    }

    /// Cuts the power within a recovery, before it showed its state, and after it; what it showed,
    /// the end of `within`, must still be there then.
    fn crash_again(
        &mut self,
        inside: Vec<Snapshot>,
        after: Option<Media>,
        within: RangeInclusive<usize>,
        generator: &mut Generator,
    ) -> Result<(), String> {
        let shown = *within.end()..=*within.end();
        let inside = inside
            .into_iter()
            .map(|snapshot| (snapshot.media, "within", within.clone()));
        let after = after
            .into_iter()
            .map(|media| (media, "after", shown.clone()));
        for (media, when, legal) in inside.chain(after) {
            let mut choices = Choices::random(generator.next());
            let cut = Cut::any(&mut choices);
            self.counts.nested += 1;
            let image = media.image(cut, &mut choices);
            self.recover(image, legal, 0)
                .map_err(|text| format!("then {cut:?} {when} its recovery: {text}"))?;
        }
        Ok(())
    }

    /// Opens what is left; the disk after it, snapshots from within, and which state it is.
    pub fn recover(
        &mut self,
        media: Media,
        legal: RangeInclusive<usize>,
        share: usize,
    ) -> Result<(Media, Vec<Snapshot>, usize), String> {
        self.counts.states += 1;
        let disk = SimulatedDisk::holding(media);
        disk.take_snapshots(share, Generator::new(self.counts.states));
        let store = Store::open_on(disk.clone(), self.options_early(), &mut |_| {})
            .map_err(|error| format!("refused, expected {legal:?}: {}", chain(&error)))?;
        let reached = self.found_in(&store, legal.clone())?;
        self.check_pending(&store, legal)?;
        let report = store.recovery();
        self.counts.left_out += u64::from(report.left_out.is_some());
        self.counts.torn += u64::from(report.tail.is_some());
        self.torn_at = report.tail.and_then(|tail| {
            let mut segments = report.segments.iter();
            let torn = segments.find(|segment| segment.number == tail.segment)?;
            Some((format!("slot-{:06}", torn.slot.0), tail.offset))
        });
        let (after, inside) = (disk.media(), disk.snapshots());
        drop(store);
        Ok((after, inside, reached))
    }

    /// Counts a gap: the recovery before found a tear, and something behind it had survived.
    fn count_gap(&mut self, before: &Media, image: &Media) {
        if let Some((name, offset)) = self.torn_at.take() {
            self.counts.gaps += u64::from(before.has_survivor_behind(image, &name, offset));
        }
    }

    /// The latest legal state that this is.
    pub fn compare(
        &self,
        recorded: &Recorded,
        legal: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let fingerprint = recorded.fingerprint();
        let found = |at: &usize| self.fingerprints.get(*at) == Some(&fingerprint);
        if let Some(at) = legal.clone().rev().find(found) {
            return Ok(at);
        }
        let other = (0..self.fingerprints.len()).rev().find(found);
        let (first, last) = (*legal.start(), *legal.end());
        let models = [first, last].map(|at| self.models[at].recorded().to_string());
        Err(format!(
            "found (state {other:?}, legal {legal:?})\n{recorded}  model after {first}\n{}  \
             model after {last}\n{}",
            models[0], models[1],
        ))
    }
}
