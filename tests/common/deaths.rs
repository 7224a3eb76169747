//! A death at every call of the disk: of each, what a kill and what power cuts leave, opened again.

use idjournal::{Options, Store};

use super::generator::{Choices, Generator};
use super::media::Cut;
use super::simulated::{Progress, SimulatedDisk};

/// What a death left: the store opened again, and the steps that had been acknowledged, at least,
/// and begun, at most.
pub struct Left {
    pub store: Store,
    pub acknowledged: usize,
    pub begun: usize,
    /// Whether it is the first recovery of this death, in which nothing is missing that was
    /// written.
    pub is_kill: bool,
}

/// Opens a store on a simulated disk.
pub fn open(disk: &SimulatedDisk, options: &Options) -> Store {
    Store::open_on(disk.clone(), options.clone(), &mut |_| {}).unwrap()
}

/// Runs `steps` steps on a store that `begin` has filled, and at each call of the disk lets it die;
/// `check` is given what is left. Returns how many states that were.
///
/// A step returns once it is acknowledged as synced. Power is cut so often at each call, with a
/// free choice of what stays of what was not synced.
pub fn at_every_call(
    options: &Options,
    begin: impl Fn(&Store),
    steps: usize,
    step: impl Fn(&Store, usize),
    cuts: u64,
    mut check: impl FnMut(Left),
) -> usize {
    let disk = SimulatedDisk::new(512);
    let store = open(&disk, options);
    begin(&store);
    store.sync().wait_synced().unwrap();
    disk.take_snapshots(100, Generator::new(0));
    let mut progress = Progress::all(0);
    for number in 0..steps {
        progress.issued = number + 1;
        disk.set_progress(progress);
        step(&store, number);
        progress = Progress::all(number + 1);
        disk.set_progress(progress);
    }
    store.close().unwrap();
    disk.take_snapshot();
    let mut states = 0;
    for snapshot in disk.snapshots() {
        let mut choices = Choices::random(states as u64);
        let killed = std::iter::once(snapshot.media.clone());
        let cut = (0..cuts).map(|number| {
            let cut = if number == 0 { Cut::Nothing } else { Cut::Free };
            snapshot.media.image(cut, &mut choices)
        });
        for (number, media) in killed.chain(cut).enumerate() {
            check(Left {
                store: open(&SimulatedDisk::holding(media), options),
                acknowledged: snapshot.progress.acknowledged,
                begun: snapshot.progress.issued,
                is_kill: number == 0,
            });
            states += 1;
        }
    }
    states
}
