//! Which of its models an opened store of the crash loop is in: at the time at which it stands,
//! with values.

use std::ops::RangeInclusive;

use idjournal::Store;

use super::crash::Run;
use super::model::Model;
use super::operation::Operation;
use super::recorded::{Recorded, pending};

/// The fingerprints of models at one time, as far as they were needed.
#[derive(Default)]
pub struct AtTime {
    now: u64,
    known: Vec<Option<u64>>,
}

impl Run {
    /// The latest legal state that a store is in that was opened just now on the early clock.
    pub fn found_in(
        &mut self,
        store: &Store,
        legal: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        self.found_at(store, self.early.step_of(store), legal)
    }

    /// The same of a store that stands at this step of time.
    pub(super) fn found_at(
        &mut self,
        store: &Store,
        now: u64,
        legal: RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let recorded = Recorded::of_opened(store);
        let fingerprint = recorded.fingerprint();
        if let Some(at) = legal
            .clone()
            .rev()
            .find(|at| self.fingerprint_at(*at, now) == Some(fingerprint))
        {
            return Ok(at);
        }
        if let Some(at) = legal
            .clone()
            .rev()
            .find(|at| self.is_partly(*at, now, fingerprint))
        {
            return Ok(at);
        }
        let all = (0..self.models.len()).rev();
        let other = all
            .into_iter()
            .find(|at| self.fingerprint_at(*at, now) == Some(fingerprint));
        let (first, last) = (*legal.start(), *legal.end());
        let models = [first, last].map(|at| {
            let model = self.models[at].opened(now);
            model.recorded_with_values().to_string()
        });
        Err(format!(
            "found at step {now} (state {other:?}, legal {legal:?})\n{recorded}  model after \
             {first}\n{}  model after {last}\n{}",
            models[0], models[1],
        ))
    }

    /// What is prepared is pending again, and nothing else is: as in one of the legal states that
    /// a store can be in that was opened just now on the early clock.
    pub(super) fn check_pending(
        &mut self,
        store: &Store,
        mut legal: RangeInclusive<usize>,
    ) -> Result<(), String> {
        let now = self.early.step_of(store);
        let recorded = Recorded::of_opened(store);
        let (fingerprint, found) = (recorded.fingerprint(), pending(store));
        let is_it = |at: usize| {
            let is_state = self.fingerprint_at(at, now) == Some(fingerprint)
                || self.is_partly(at, now, fingerprint);
            is_state && self.models[at].opened(now).pending() == found
        };
        if legal.any(is_it) {
            return Ok(());
        }
        Err(format!("pending are {found:?} in\n{recorded}"))
    }

    fn fingerprint_at(&mut self, at: usize, now: u64) -> Option<u64> {
        let model = self.models.get(at)?;
        if model.newest() > now {
            return None;
        }
        // Without ages time makes no difference.
        let now = if model.has_ages() { now } else { 0 };
        let known = &mut self.at_time;
        if known.now != now || known.known.len() != self.models.len() {
            let none = vec![None; self.models.len()];
            *known = AtTime { now, known: none };
        }
        let look = || model.opened(now).recorded_with_values().fingerprint();
        Some(*known.known[at].get_or_insert_with(look))
    }

    /// Whether this is what a crash within the call before this state may leave beside it.
    fn is_partly(&self, at: usize, now: u64, fingerprint: u64) -> bool {
        let model = self.models.get(at).filter(|model| model.newest() <= now);
        model.is_some_and(|model| model.partly_as(now, fingerprint).is_some())
    }

    /// All models are as after the opening of this store, that was opened just now.
    pub(super) fn set_time(&mut self, store: &Store) {
        let now = self.clock.step_of(store);
        let found = Recorded::of_opened(store).fingerprint();
        for model in &mut self.models {
            let partly = model.partly_as(now, found);
            *model = partly.unwrap_or_else(|| model.opened(now));
        }
        self.look_at_models();
    }

    /// Takes the fingerprints of all models.
    pub(super) fn look_at_models(&mut self) {
        self.fingerprints = self.models.iter().map(Model::fingerprint).collect();
        let kept = self.models.iter().map(|model| self.kept_of(model));
        self.kept = kept.collect();
        self.at_time = AtTime::default();
    }

    /// The fingerprint of what a restart would leave.
    pub(super) fn kept_of(&self, model: &Model) -> u64 {
        match self.geometry.profile.patterns {
            true => model.opened(model.now).fingerprint(),
            false => model.fingerprint(),
        }
    }

    /// Whether a call between these two states recorded something that shows.
    pub(super) fn has_record_between(&self, earlier: usize, later: usize) -> bool {
        (earlier..later).any(|at| {
            let call = at.checked_sub(self.base).and_then(|at| self.script.get(at));
            let is_of_time = matches!(
                call,
                Some(Operation::Wait { .. } | Operation::Reopen { .. })
            );
            !is_of_time && self.kept[at] != self.kept[at + 1]
        })
    }
}
