//! Sides that are measured in turn, in several rounds, so that a disturbance meets all of them.
//!
//! Of what a processor does the best round of each side counts: whatever else the machine does only
//! ever slows one down. Of what waits for a disk it is the median of the rounds.

use crate::Result;

type Turn<'a> = Box<dyn FnMut() -> Result<f64> + 'a>;

#[derive(Default)]
pub(crate) struct Rounds<'a> {
    sides: Vec<(Turn<'a>, Vec<f64>)>,
}

/// One of the sides.
#[derive(Clone, Copy)]
pub(crate) struct Side(usize);

impl<'a> Rounds<'a> {
    /// Adds a side; a turn of it returns a rate.
    pub(crate) fn side(&mut self, turn: impl FnMut() -> Result<f64> + 'a) -> Side {
        self.sides.push((Box::new(turn), Vec::new()));
        Side(self.sides.len() - 1)
    }

    /// Every other round goes the other way round, so that none is always behind the same one.
    pub(crate) fn run(&mut self, rounds: usize) -> Result<()> {
        for round in 0..rounds {
            let count = self.sides.len();
            for place in 0..count {
                let side = if round % 2 == 0 {
                    place
                } else {
                    count - 1 - place
                };
                let (turn, rates) = &mut self.sides[side];
                rates.push(turn()?);
            }
        }
        Ok(())
    }

    /// The share that one side reaches of another: the median of the rounds.
    ///
    /// For what waits for a disk: on a busy machine a wait ends when the processor is free, which
    /// makes it up to a hundred times longer for seconds. The two sides of one round meet about the
    /// same, the best rounds of two sides need not.
    pub(crate) fn share(&self, side: Side, of: Side) -> f64 {
        let rates = self.sides[side.0].1.iter().zip(&self.sides[of.0].1);
        median(rates.map(|(rate, limit)| rate / limit).collect())
    }

    pub(crate) fn median(&self, side: Side) -> f64 {
        median(self.sides[side.0].1.clone())
    }

    pub(crate) fn best(&self, side: Side) -> f64 {
        self.sides[side.0].1.iter().copied().fold(0.0, f64::max)
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
