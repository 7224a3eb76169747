//! Whether every row of docs/conformance.md has a test, or a reason for having none.

use std::fs;
use std::path::Path;

/// A list of rows, and where they are said and tested.
pub(crate) struct Rows {
    /// The heading of its table on the page.
    pub(crate) heading: &'static str,
    /// The folder of its tests.
    pub(crate) folder: &'static str,
    /// All of its rows in order, without blanks.
    pub(crate) rows: &'static str,
    /// What the names of its tests begin with before the name of the row.
    pub(crate) prefix: &'static str,
    /// Those that have a reason and no test.
    pub(crate) untested: &'static str,
}

/// A row of the page: its name, and its test or reason.
struct Told<'a> {
    row: &'a str,
    test: &'a str,
}

impl Rows {
    /// Page and sources are compared; and once more with each row and each test left out, which
    /// must be seen.
    pub(crate) fn check(&self) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(root.join("docs/conformance.md")).unwrap();
        let mut sources = String::new();
        for file in fs::read_dir(root.join("tests").join(self.folder)).unwrap() {
            sources.push_str(&fs::read_to_string(file.unwrap().path()).unwrap());
        }
        assert_eq!(self.faults(&page, &sources), Vec::<String>::new());
        for told in self.told(&page) {
            let line = page.lines().find(|line| line.contains(told.test)).unwrap();
            let without = page.replacen(line, "", 1);
            assert!(!self.faults(&without, &sources).is_empty(), "{line}");
            let name = told.test.trim_matches('`');
            let without = sources.replace(&format!("fn {name}("), "fn other(");
            let is_tested = !self.is_untested(told.row);
            assert_eq!(
                !self.faults(&page, &without).is_empty(),
                is_tested,
                "{name}"
            );
        }
    }

    fn is_untested(&self, row: &str) -> bool {
        self.untested.split(' ').any(|untested| untested == row)
    }

    /// The rows of the table below the heading.
    fn told<'a>(&self, page: &'a str) -> Vec<Told<'a>> {
        let heading = format!("## {}", self.heading);
        let below = page.lines().skip_while(|line| *line != heading).skip(1);
        let section = below.take_while(|line| !line.starts_with("## "));
        let cells = section.filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
            let (row, test) = (cells.next()?, cells.last()?);
            (row != "row").then_some(Told { row, test })
        });
        cells.collect()
    }

    fn faults(&self, page: &str, sources: &str) -> Vec<String> {
        let told = self.told(page);
        let rows: Vec<&str> = told.iter().map(|told| told.row).collect();
        let mut faults = Vec::new();
        if rows.join(" ") != self.rows {
            faults.push(format!("the page has the rows {rows:?}"));
        }
        for Told { row, test } in &told {
            let prefix = format!("{}{}_", self.prefix, row.to_lowercase());
            let has_test = sources.contains(&format!("\nfn {prefix}"));
            if self.is_untested(row) {
                let has_reason = test
                    .strip_prefix("none: ")
                    .is_some_and(|why| why.len() > 20);
                if has_test || !has_reason {
                    faults.push(format!("{row} needs a reason, and no test: {test}"));
                }
                continue;
            }
            let name = test.trim_matches('`');
            let is_asserting = body(sources, name).is_some_and(|body| body.contains("assert"));
            if !name.starts_with(&prefix) || !is_asserting {
                faults.push(format!("{row} has no test that asserts: {test}"));
            }
        }
        faults
    }
}

/// What stands in the test of this name, if it is one that runs by itself.
fn body<'a>(sources: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = sources.split_once(&format!("\n#[test]\nfn {name}() {{\n"))?;
    behind.split_once("\n}\n").map(|(body, _)| body)
}
