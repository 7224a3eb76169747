//! Small calls of the rigs: one store, one question.

use idjournal::{Options, Outcome, Store};

use crate::chain;
use crate::filling::way;

/// Opens and closes; how many IDs were found.
pub(crate) fn open(directory: &str) -> Result<String, String> {
    let store = Store::open(directory, Options::default()).map_err(|error| chain(&error))?;
    let ids = store.recovery().ids;
    store.close().map_err(|error| chain(&error))?;
    Ok(format!("opened: {ids} IDs"))
}

/// Whether a new store is written through a map by itself.
pub(crate) fn maps(directory: &str) -> Result<String, String> {
    let store = Store::open(directory, Options::default()).map_err(|error| chain(&error))?;
    let orders = store.cache("orders").map_err(|error| chain(&error))?;
    let added = orders.add("order-1842").map_err(|error| chain(&error))?;
    assert_eq!(added, Outcome::Added);
    let is_mapped = store.stats().is_mapped;
    store.close().map_err(|error| chain(&error))?;
    Ok(format!("mapped {is_mapped}"))
}

/// How many bytes a synced add sends to the device with these counters, by default options.
pub(crate) fn cost(
    directory: &str,
    writes: &str,
    count: u64,
    stat: &str,
) -> Result<String, String> {
    let store = Store::open(directory, Options::default().writes(way(writes)));
    let store = store.map_err(|error| chain(&error))?;
    let cache = store.cache("orders").map_err(|error| chain(&error))?;
    let add = |number| match cache.add(format!("{number:036}")) {
        Ok(Outcome::Added) => Ok(()),
        other => Err(format!("{number}: {other:?}")),
    };
    // The segments are made, and the maps have been synced whole, before it is counted.
    (0..100).try_for_each(add)?;
    let written = || -> Result<u64, String> {
        let text = std::fs::read_to_string(stat).map_err(|error| format!("{stat}: {error}"))?;
        let sectors = text.split_whitespace().nth(6).ok_or("no counter")?;
        Ok(512 * sectors.parse::<u64>().map_err(|error| error.to_string())?)
    };
    let (before, syncs) = (written()?, store.stats().syncs);
    (100..100 + count).try_for_each(add)?;
    let (bytes, syncs) = (written()? - before, store.stats().syncs - syncs);
    Ok(format!(
        "{} bytes an add ({count} adds, {syncs} syncs)",
        bytes / count
    ))
}
