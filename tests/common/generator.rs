//! A seeded generator (splitmix64) and the choices drawn from it, or listed one after the other.
//!
//! Nothing else in the tests is random: one seed gives one run.

/// A stream of numbers that its seed decides.
#[derive(Clone, Debug)]
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator(seed)
    }

    /// The generator that belongs to the `label`-th part of a run with this seed.
    pub fn of_part(seed: u64, label: u64) -> Generator {
        let mut generator = Generator(seed ^ label.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Generator(generator.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    pub fn per_cent(&mut self, per_cent: usize) -> bool {
        self.below(100) < per_cent
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk
                .iter_mut()
                .zip(word)
                .for_each(|(byte, random)| *byte = random);
        }
    }
}

/// Spreads the bits of `word`; also a step of the fingerprints.
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Where free choices come from: at random, or every combination in turn.
#[derive(Clone, Debug)]
pub enum Choices {
    Random(Generator),
    /// Each choice so far with its bound; like the digits of a counter.
    Listed {
        digits: Vec<(usize, usize)>,
        at: usize,
    },
}

impl Choices {
    pub fn random(seed: u64) -> Choices {
        Choices::Random(Generator::new(seed))
    }

    /// Begins with the first choice everywhere; [`Choices::advance`] goes on from there.
    pub fn listed() -> Choices {
        Choices::Listed {
            digits: Vec::new(),
            at: 0,
        }
    }

    /// One of `bound` possibilities.
    pub fn choose(&mut self, bound: usize) -> usize {
        match self {
            Choices::Random(generator) => generator.below(bound),
            Choices::Listed { digits, at } => {
                if digits.len() == *at {
                    digits.push((0, bound));
                }
                *at += 1;
                assert_eq!(
                    digits[*at - 1].1,
                    bound,
                    "the choices must come in the same order"
                );
                digits[*at - 1].0
            }
        }
    }

    /// The next combination, if there is one left; choices at random never end.
    pub fn advance(&mut self) -> bool {
        let Choices::Listed { digits, at } = self else {
            return true;
        };
        digits.truncate(*at);
        *at = 0;
        while let Some((digit, bound)) = digits.pop() {
            if digit + 1 < bound {
                digits.push((digit + 1, bound));
                return true;
            }
        }
        false
    }
}
