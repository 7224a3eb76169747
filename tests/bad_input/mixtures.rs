//! A directory and its copy that lived on apart: every mixture of their files.

use std::collections::BTreeSet;

use idjournal::{Error, MemoryStorage, Options};

use crate::support::{Answers, Files, answers, files, open, repeatable, storage_of};

/// Lets a copy of `base` live on for `adds` adds with salts of its own.
fn lived_on(base: &Files, seed: u64, adds: u64, is_killed: bool) -> (Files, Answers) {
    let storage = storage_of(base);
    let store = open(storage.clone(), options(seed)).unwrap();
    let orders = store.cache("orders").unwrap();
    for number in 0..adds {
        let _ = orders.add(format!("order-{seed}-{number}")).unwrap();
    }
    if is_killed {
        let left = files(&storage);
        return (left, answers(&store));
    }
    let known = answers(&store);
    store.close().unwrap();
    (files(&storage), known)
}

fn options(seed: u64) -> Options {
    repeatable(1024, seed * 1_000_000).0
}

/// Opens every mixture of the three directories, of which each file comes from one.
fn try_mixtures(base: (&Files, &Answers), one: (&Files, &Answers), two: (&Files, &Answers)) {
    let sources = [one, two, base];
    let names: BTreeSet<&String> = sources.iter().flat_map(|(files, _)| files.keys()).collect();
    let count = 3_usize.pow(u32::try_from(names.len()).unwrap());
    assert!(count <= 60_000, "{} names", names.len());
    let (mut opened, mut refused) = (0, 0);
    for mixture in 0..count {
        let mut mixed = Files::new();
        let mut rest = mixture;
        for name in &names {
            let source = rest % 3;
            rest /= 3;
            if let Some(bytes) = sources[source].0.get(*name) {
                mixed.insert((*name).clone(), bytes.clone());
            }
        }
        match open(storage_of(&mixed), options(9)) {
            Ok(store) => {
                opened += 1;
                let known = answers(&store);
                let is_whole = sources.iter().any(|(_, answers)| **answers == known);
                assert!(
                    is_whole,
                    "mixture {mixture} of {names:?} opened as none of them"
                );
            }
            Err(Error::Damaged { .. } | Error::NotAStore { .. }) => refused += 1,
            Err(other) => panic!("mixture {mixture}: {other:?}"),
        }
    }
    assert!(opened >= 3 && refused > count / 2, "{opened} of {count}");
}

fn base(adds: u64) -> (Files, Answers) {
    let storage = MemoryStorage::new();
    let store = open(storage.clone(), options(1)).unwrap();
    let orders = store.cache("orders").unwrap();
    orders.set_capacity(12).wait().unwrap();
    for number in 0..adds {
        let _ = orders.add(format!("order-{number}")).unwrap();
    }
    let known = answers(&store);
    store.close().unwrap();
    (files(&storage), known)
}

#[test]
fn a_mixture_of_two_copies_is_refused_or_one_of_them() {
    for (before, one_adds, two_adds) in [(1, 1, 1), (20, 1, 30), (60, 40, 40), (10, 90, 10)] {
        let (base_files, base_answers) = base(before);
        let (one_files, one_answers) = lived_on(&base_files, 2, one_adds, false);
        let (two_files, two_answers) = lived_on(&base_files, 3, two_adds, false);
        try_mixtures(
            (&base_files, &base_answers),
            (&one_files, &one_answers),
            (&two_files, &two_answers),
        );
    }
}

#[test]
fn a_mixture_of_two_killed_copies_is_refused_or_one_of_them() {
    let (base_files, base_answers) = base(20);
    let (one_files, one_answers) = lived_on(&base_files, 2, 25, true);
    let (two_files, two_answers) = lived_on(&base_files, 3, 30, true);
    try_mixtures(
        (&base_files, &base_answers),
        (&one_files, &one_answers),
        (&two_files, &two_answers),
    );
}
