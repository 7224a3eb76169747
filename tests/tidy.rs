//! Promise: the tree keeps its shape: imports go down only, and what is dangerous has one place.
//!
//! Method: read the import table of docs/design.md and the sources and compare them; look for words
//! that belong to certain files. Checks take text, so that planted faults show what they see.

#[path = "tidy/reading.rs"]
mod reading;

use std::collections::BTreeSet;

use reading::{
    PUBLIC_FACE, Source, Table, code, is_for_tests, paths, place, reach, row, sources, table,
    tokens,
};

/// Words and ends of paths, the places where they may stand, and whether tests may use them too.
const ONLY_IN: [(&[&str], &[&str], bool); 6] = [
    (&["unsafe"], &["src/storage/map.rs"], false),
    (
        &["std::fs", "rustix::fs"],
        &["src/storage/file", "src/bin/"],
        true,
    ),
    (
        &["SystemTime", "Instant::now", "clock_gettime"],
        &["src/clock.rs", "src/bin/"],
        false,
    ),
    (
        &["thread::spawn", "thread::Builder", "thread::scope"],
        &["src/keeper.rs", "src/recovery/ahead.rs"],
        true,
    ),
    (&["println", "eprintln"], &["src/bin/"], true),
    (
        &[
            "from_ne_bytes",
            "to_ne_bytes",
            "dbg",
            "todo",
            "unimplemented",
        ],
        &[],
        false,
    ),
];

fn table_faults(table: &Table) -> Vec<String> {
    let loops = table
        .keys()
        .filter(|name| reach(table, name).contains(*name));
    let mut faults: Vec<String> = loops.map(|name| format!("{name} imports itself")).collect();
    let apart = [("journal", "recovery"), ("recovery", "journal")];
    let joined = apart
        .iter()
        .filter(|(from, to)| reach(table, from).contains(*to));
    faults.extend(joined.map(|(from, to)| format!("{from} leads to {to}")));
    let may = [
        "error",
        "ids",
        "record",
        "recovery/classify",
        "segment",
        "units",
    ];
    for name in ["recovery/classify", "recovery/report"] {
        let names = table.get(name).into_iter().flatten();
        let other = names.filter(|one| !may.contains(&one.as_str()));
        faults.extend(other.map(|one| format!("{name} is pure and may not import {one}")));
    }
    faults
}

fn module_faults(table: &Table, sources: &[Source]) -> Vec<String> {
    let places: Vec<_> = sources
        .iter()
        .filter(|s| !is_for_tests(&s.0))
        .map(|s| place(&s.0))
        .collect();
    let modules: BTreeSet<String> = places.iter().map(|at| at.join("/")).collect();
    let rowless = places
        .iter()
        .filter_map(|at| at.first())
        .filter(|top| !table.contains_key(**top));
    let hidden = sources.iter().filter(|(path, text)| {
        let code = if is_for_tests(path) {
            String::new()
        } else {
            code(text)
        };
        let names_tests = |name: &str| name == "tests" || name.ends_with("_tests");
        tokens(&code)
            .windows(2)
            .any(|pair| pair[0] == "mod" && names_tests(pair[1]))
    });
    let hidden = hidden.map(|source| format!("{} compiles tests into the library", source.0));
    let rowless = rowless.map(|top| format!("{top} has no row"));
    let lost = table.keys().filter(|name| !modules.contains(*name));
    hidden
        .chain(rowless)
        .chain(lost.map(|name| format!("the row {name} has no module")))
        .collect()
}

fn import_faults(table: &Table, (path, text): &Source) -> Vec<String> {
    if is_for_tests(path) {
        return Vec::new();
    }
    let (place, text) = (place(path), code(text));
    let (own, mut faults) = (row(table, &place), Vec::new());
    for path_used in paths(&text) {
        let mut import = path_used
            .iter()
            .copied()
            .skip_while(|part| *part == "self")
            .peekable();
        let is_program = path.starts_with("src/bin/");
        let mut full = match (import.next(), import.peek()) {
            (_, None) => continue,
            (Some("super"), _) if !is_program => place[..place.len().saturating_sub(1)].to_vec(),
            (Some("crate"), _) if !is_program => vec![],
            (Some("idjournal"), Some(module)) if table.contains_key(*module) => vec![],
            _ => continue,
        };
        for part in import {
            let keep = if part == "super" {
                full.len().saturating_sub(1)
            } else {
                full.len()
            };
            full.truncate(keep);
            full.extend((part != "super").then_some(part));
        }
        let other = row(table, &full);
        let is_public = !table.contains_key(&other);
        let may = table.get(&own).is_some_and(|names| {
            names.iter().any(|name| {
                let is_within = other == *name || other.starts_with(&format!("{name}/"));
                is_within || is_public && name == PUBLIC_FACE
            })
        });
        if other != own && !may && !(other.starts_with(&format!("{own}/"))) {
            faults.push(format!("{path} imports {}", path_used.join("::")));
        }
    }
    faults
}

fn word_faults((path, text): &Source) -> Vec<String> {
    let bare: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split("//").next())
        .collect();
    let (bare, code, mut faults) = (bare.join("\n"), code(text), Vec::new());
    for (words, allowed, tests_may) in &ONLY_IN {
        let exempt = *tests_may && is_for_tests(path);
        if exempt || allowed.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        for found in paths(if *tests_may { &code } else { &bare }) {
            let found = format!("::{}::", found.join("::"));
            let hit = words
                .iter()
                .filter(|word| found.contains(&format!("::{word}::")));
            faults.extend(hit.map(|word| format!("{path} uses {word}")));
        }
    }
    faults
}

fn text_faults((path, text): &Source) -> Vec<String> {
    let markers = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|halves| halves.concat());
    let is_rust = path.ends_with(".rs");
    let checks = [
        (
            is_rust && !text.starts_with("//!"),
            "does not begin with its doc",
        ),
        (is_rust && text.lines().count() > 400, "has over 400 lines"),
        (
            is_rust && text.lines().any(|line| line.chars().count() > 100),
            "has over 100 columns",
        ),
        (!text.is_ascii(), "is not ASCII"),
        (
            markers.iter().any(|marker| text.contains(marker)),
            "has a mark of unfinished work",
        ),
    ];
    checks
        .iter()
        .filter(|check| check.0)
        .map(|check| format!("{path} {}", check.1))
        .collect()
}

/// The faults of `check` in all files of `parts`.
fn all(parts: &[&str], check: impl Fn(&Source) -> Vec<String>) -> Result<Vec<String>, String> {
    let sources = sources(parts).map_err(|error| error.to_string())?;
    assert!(!sources.is_empty(), "nothing to read in {parts:?}");
    Ok(sources.iter().flat_map(check).collect())
}

fn design() -> Result<Table, String> {
    let pages = sources(&["docs/design.md"]).map_err(|error| error.to_string())?;
    table(&pages.first().ok_or("no docs/design.md")?.1)
}

fn planted(path: &str, text: &str) -> Source {
    (path.to_owned(), format!("//! A file.\n{text}\n"))
}

fn small_table(rows: &str) -> Result<Table, String> {
    table(&format!(
        "| level | modules | may import |\n|---|---|---|\n{rows}"
    ))
}

#[track_caller]
fn assert_clean(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_import_table_has_no_loop_and_keeps_recovery_apart() -> Result<(), String> {
    assert_clean(&table_faults(&design()?));
    for (rows, count) in [
        ("| 0 | `a` | `b` |\n| 1 | `b` | level 0 |\n", 2),
        (
            "| 4 | `journal` | `x` |\n| 3 | `x` | `recovery` |\n| 4 | `recovery` | nothing |\n",
            1,
        ),
        (
            "| 0 | `storage` | nothing |\n| 1 | `recovery/report` | level 0 |\n",
            1,
        ),
    ] {
        assert_eq!(table_faults(&small_table(rows)?).len(), count, "{rows}");
    }
    for rows in [
        "| 1 | `a` | level 1 |\n",
        "| 0 | `a` | all |\n",
        "| 0 | `a`, `a` | nothing |\n",
    ] {
        assert!(small_table(rows).is_err(), "{rows}");
    }
    Ok(())
}

#[test]
fn every_module_has_a_row_and_every_row_a_module() -> Result<(), String> {
    let library = sources(&["src"]).map_err(|error| error.to_string())?;
    assert_clean(&module_faults(&design()?, &library));
    let rows = small_table("| 0 | `ids` | nothing |\n")?;
    let ids = planted("src/ids.rs", "#[cfg(test)]\nmod tests;");
    assert_clean(&module_faults(
        &rows,
        &[planted("src/lib.rs", "mod ids;"), ids.clone()],
    ));
    assert_eq!(module_faults(&rows, &[planted("src/lib.rs", "")]).len(), 1);
    for other in [
        planted("src/a/mod.rs", ""),
        planted("src/lib.rs", "mod ids_tests;"),
    ] {
        assert_eq!(module_faults(&rows, &[ids.clone(), other]).len(), 1);
    }
    Ok(())
}

#[test]
fn every_file_imports_only_what_its_row_allows() -> Result<(), String> {
    let design = design()?;
    assert_clean(&all(&["src"], |source| import_faults(&design, source))?);
    for (path, text, count) in [
        ("src/ids.rs", "use crate::error::Error;", 1),
        (
            "src/ids.rs",
            "use super::{ids::Slot, store::{Store, Cache}};",
            2,
        ),
        ("src/error.rs", "fn f() { crate::store::open() }", 1),
        ("src/error.rs", "use crate::Error;", 1),
        (
            "src/error.rs",
            "mod inner {\n    use super::Error;\n    use super::super::store::X;\n}",
            1,
        ),
        ("src/camel.rs", "use crate::{Cache, store::Store};", 1),
        ("src/journal.rs", "use crate::recovery::report::Report;", 1),
        ("src/recovery/classify.rs", "use super::scan::Facts;", 1),
        (
            "src/recovery/scan.rs",
            "use super::classify::Facts;\nuse crate::storage::Storage;",
            0,
        ),
        (
            "src/bin/journal-dump/main.rs",
            "use idjournal::{Error, inspect, store};",
            1,
        ),
        (
            "src/ids.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::store::Store;\n}",
            0,
        ),
        (
            "src/ids.rs",
            "/// See [`crate::store`].\npub(crate) fn f() {}",
            0,
        ),
    ] {
        assert_eq!(
            import_faults(&design, &planted(path, text)).len(),
            count,
            "{path}: {text}"
        );
    }
    Ok(())
}

#[test]
fn dangerous_words_stand_only_in_the_files_named_for_them() -> Result<(), String> {
    assert_clean(&all(&["src"], word_faults)?);
    for text in [
        "unsafe { f() }",
        "use std::{fs, io};",
        "let now = SystemTime::now();",
        "let now = std::time::Instant::now();",
        "let time = rustix::time::clock_gettime(id);",
        "thread::spawn(f);",
        "let bytes = number.to_ne_bytes();",
        "let number = u32::from_ne_bytes(bytes);",
        "todo!();",
        "dbg!(x);",
        "println!();",
        "#[cfg(test)]\nfn f() {\n    unsafe { g() }\n}",
    ] {
        assert_eq!(word_faults(&planted("src/ids.rs", text)).len(), 1, "{text}");
    }
    assert_clean(&word_faults(&planted(
        "src/ids.rs",
        "// Not unsafe.\n#![deny(unsafe_code)]",
    )));
    assert_clean(&word_faults(&planted(
        "src/storage/map.rs",
        "unsafe { f() }",
    )));
    Ok(())
}

#[test]
fn every_file_is_short_narrow_plain_described_and_finished() -> Result<(), String> {
    let parts = ["src", "tests", "benches", "fuzz", "docs", "README.md"];
    assert_clean(&all(&parts, text_faults)?);
    let marked = format!("// {}{}: later", "TO", "DO");
    for text in ["// \u{e9}", &"\n".repeat(400), &"/".repeat(101), &marked] {
        assert_eq!(text_faults(&planted("src/ids.rs", text)).len(), 1, "{text}");
    }
    assert_eq!(
        text_faults(&("src/ids.rs".to_owned(), "use x;\n".to_owned())).len(),
        1
    );
    assert_clean(&text_faults(&planted("src/ids.rs", &"\n".repeat(398))));
    Ok(())
}
