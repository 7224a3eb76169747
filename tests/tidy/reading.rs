//! Reads what the tidy test compares: sources, the paths in them, and the table of docs/design.md.
//!
//! It relies on formatted code: an item ends at its own indent, and no comment stands in a block.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

const TABLE_HEAD: &str = "| level | modules | may import |";

/// In a row of the table: what lib.rs gives to every user.
pub(crate) const PUBLIC_FACE: &str = "the public face";

/// For each row of the table, the modules that it may import.
pub(crate) type Table = BTreeMap<String, BTreeSet<String>>;
/// A path below the top of the repository, and the text of the file.
pub(crate) type Source = (String, String);

/// The Rust and Markdown files in `parts`, paths below the top; what is not there is left out.
pub(crate) fn sources(parts: &[&str]) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    for part in parts {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
        if path.is_dir() {
            for inner in fs::read_dir(path)? {
                let name = inner?.file_name().to_string_lossy().into_owned();
                let skip = name == "target" || name.starts_with('.');
                let inner = if skip {
                    vec![]
                } else {
                    sources(&[&format!("{part}/{name}")])?
                };
                found.extend(inner);
            }
        } else if path.exists() && (part.ends_with(".rs") || part.ends_with(".md")) {
            found.push(((*part).to_owned(), fs::read_to_string(path)?));
        }
    }
    Ok(found)
}

/// The code of `text`, without comments and without the items for tests only.
pub(crate) fn code(text: &str) -> String {
    let (mut kept, mut test_indent) = (String::new(), None);
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim_end();
        let indent = line.len() - line.trim_start().len();
        if ["#[cfg(test)]", "#[cfg(all(test,"]
            .iter()
            .any(|test| line.trim_start().starts_with(test))
        {
            test_indent = Some(indent);
        }
        if test_indent.is_none() {
            kept.extend([line, "\n"]);
        } else if test_indent == Some(indent) && line.ends_with(['}', ';']) {
            test_indent = None;
        }
    }
    kept
}

/// The words and signs of `text`.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let word = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let sign = if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(if word == 0 { sign } else { word });
        found.push(token);
        rest = behind.trim_start();
    }
    found
}

/// Every path in `text`, groups written out: `use a::{b, c}` is `a::b` and `a::c`. A `super` that
/// leads from a module within the file to the file itself is given as `self`.
pub(crate) fn paths(text: &str) -> Vec<Vec<&str>> {
    let tokens = tokens(text);
    let (mut found, mut path) = (Vec::new(), Vec::new());
    let mut groups: Vec<(Vec<&str>, bool)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "::" => {}
            "{" => {
                let begins_module = at > 1 && tokens[at - 2] == "mod";
                groups.push((std::mem::take(&mut path), begins_module));
            }
            "}" => {
                groups.pop();
                path.clear();
            }
            word if word == "*" || word.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                if path.is_empty() {
                    path = groups
                        .last()
                        .map(|group| group.0.clone())
                        .unwrap_or_default();
                }
                let inner = groups.iter().filter(|group| group.1).count() > path.len();
                let inner = inner && path.iter().all(|part| *part == "self");
                path.push(if inner && word == "super" {
                    "self"
                } else {
                    word
                });
                if tokens.get(at + 1) != Some(&"::") {
                    found.push(std::mem::take(&mut path));
                }
            }
            _ => path.clear(),
        }
    }
    found
}

/// The row for a place such as `recovery`, `scan`: the file's if it has one, else the folder's.
pub(crate) fn row(table: &Table, place: &[&str]) -> String {
    let file = place.iter().take(2).copied().collect::<Vec<_>>().join("/");
    let folder = place.first().copied().unwrap_or_default().to_owned();
    if table.contains_key(&file) {
        file
    } else {
        folder
    }
}

/// `src/recovery/scan.rs` is `recovery`, `scan`; a program's file is the program; lib.rs nothing.
pub(crate) fn place(path: &str) -> Vec<&str> {
    let inner = path
        .trim_start_matches("src/")
        .trim_end_matches(".rs")
        .trim_end_matches("/mod");
    let kept = if inner.starts_with("bin/") { 1 } else { 9 };
    let parts = inner.trim_start_matches("bin/").split('/').take(kept);
    parts.filter(|part| *part != "lib").collect()
}

/// Whether the file holds tests of the module beside it.
pub(crate) fn is_for_tests(path: &str) -> bool {
    ["/tests.rs", "_tests.rs"]
        .iter()
        .any(|end| path.ends_with(end))
        || path.contains("/tests/")
}

/// The import table in `page`; the error is what cannot be read in it.
pub(crate) fn table(page: &str) -> Result<Table, String> {
    let lines = page.lines().skip_while(|line| *line != TABLE_HEAD).skip(2);
    let mut rows = Vec::new();
    for line in lines.take_while(|line| line.starts_with('|')) {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, level, modules, may, _] = columns[..] else {
            return Err(line.to_owned());
        };
        let level: u32 = level.parse().map_err(|_| line.to_owned())?;
        rows.extend(
            modules
                .split(", ")
                .map(|name| (name.trim_matches('`'), level, may)),
        );
    }
    let mut table = Table::new();
    for (name, level, may) in &rows {
        let mut names = BTreeSet::new();
        for part in may.split(", ").filter(|part| *part != "nothing") {
            let range = part
                .trim_start_matches("levels ")
                .trim_start_matches("level ");
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            match (low.parse(), high.parse::<u32>()) {
                (Ok(low), Ok(high)) if high < *level => {
                    names.extend(
                        rows.iter()
                            .filter(|r| (low..=high).contains(&r.1))
                            .map(|r| r.0),
                    );
                }
                _ if part == PUBLIC_FACE => drop(names.insert(part)),
                _ if part.starts_with('`') => drop(names.insert(part.trim_matches('`'))),
                _ => return Err(format!("{name}: {part}")),
            }
        }
        let names = names.into_iter().map(str::to_owned).collect();
        if table.insert((*name).to_owned(), names).is_some() {
            return Err(format!("{name} has two rows"));
        }
    }
    Ok(table)
}

/// All rows that `from` leads to, over any number of steps.
pub(crate) fn reach(table: &Table, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(name) = open.pop() {
        let files = table
            .keys()
            .filter(|file| file.starts_with(&format!("{name}/")));
        for next in files.chain(table.get(&name).into_iter().flatten()) {
            if found.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    found
}
