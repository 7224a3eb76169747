//! Persistence of an address turned off and on between all other calls, as in `tests/settings`.

use super::support;

#[path = "../settings/listed.rs"]
mod listed;
#[path = "../settings/opened.rs"]
mod opened;
#[path = "../settings/steps.rs"]
mod steps;

pub(crate) use steps::{STEPS, run};
