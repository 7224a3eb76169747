//! What tests share: a seeded generator, the simulated disk, the reference model, scripts.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared modules of test programs")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of tests are small"
)]

pub mod claims;
pub mod copied;
pub mod crash;
mod crash_check;
mod crash_found;
pub mod crash_geometry;
mod crash_life;
mod crash_plan;
pub mod deaths;
mod disk_calls;
pub mod failing;
pub mod generator;
pub mod media;
mod media_file;
pub mod model;
mod model_shown;
pub mod operation;
pub mod order;
pub mod passed;
mod places;
pub mod recorded;
pub mod rot;
pub mod runner;
pub mod said;
pub mod simulated;
mod simulated_files;
pub mod space;
pub mod time;

use std::io;

use idjournal::Entropy;
use parking_lot::Mutex;

use generator::Generator;
pub use time::CountingClock;

/// Random bytes that a seed decides.
pub struct SeededEntropy(Mutex<Generator>);

impl SeededEntropy {
    pub fn new(seed: u64) -> SeededEntropy {
        SeededEntropy(Mutex::new(Generator::of_part(seed, 0xe7)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.lock().fill(bytes);
        Ok(())
    }
}

/// A number from the environment, for running more or one case again.
pub fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let text = text.trim();
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    Some(number.unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}
