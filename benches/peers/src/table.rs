//! The tables, one for each mode.

use crate::peer::Survives;
use crate::peers::find;
use crate::plan::Mode;
use crate::run::Row;
use crate::task::{Latency, Report, Work};

/// All tables, as text.
pub fn tables(rows: &[Row]) -> String {
    let mut text = String::new();
    for mode in Mode::ALL {
        // What was measured without syncs may have been reopened too.
        let is_reopened = |row: &&Row| {
            let report = row.report.as_ref();
            *mode == Mode::Reopen && report.is_some_and(|report| report.reopen.is_some())
        };
        let of_mode = |row: &&Row| row.mode == *mode || is_reopened(row);
        let rows: Vec<&Row> = rows.iter().filter(of_mode).collect();
        if !rows.is_empty() {
            text.push_str(&table(*mode, &rows));
        }
    }
    text
}

fn table(mode: Mode, rows: &[&Row]) -> String {
    let (title, lines) = match mode {
        Mode::Check => (
            "answers equal to those of the plain reference",
            checks(rows),
        ),
        Mode::Unsynced => ("one thread, no syncs", adds(rows)),
        Mode::Synced => ("one thread, each add synced", adds(rows)),
        Mode::Batches => ("one thread, synced after each 1,000 adds", adds(rows)),
        Mode::Threads => (
            "64 threads, each waiting for the sync of its add",
            adds(rows),
        ),
        Mode::Reopen => ("opening again, page cache warm", reopenings(rows)),
        Mode::Scaling => ("adds/s by number of threads, each waiting", scaling(rows)),
        Mode::Cliff => (
            "us of an add, before and after the window of 20,000 is full",
            cliffs(rows),
        ),
    };
    format!("\n{title}\n{}", aligned(&lines))
}

/// The first column to the left, the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    // What stands last in a short line may run over the columns behind it.
    let runs_over =
        |line: &[String], column: usize| line.len() < columns && column + 1 == line.len();
    let width = |column: usize| {
        let counted = lines.iter().filter(|line| !runs_over(line, column));
        let cells = counted.filter_map(|line| line.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            let cell = match column {
                0 => format!("  {cell:<width$}"),
                _ if runs_over(line, column) => format!("  {cell}"),
                _ => format!("  {cell:>width$}"),
            };
            text.push_str(&cell);
        }
        text.push('\n');
    }
    text
}

fn line<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// A line for a row that failed, or what `cells` makes of its report.
fn cells_or_failure(row: &Row, cells: impl FnOnce(&Report) -> Vec<String>) -> Vec<String> {
    match (&row.report, &row.failure) {
        (Some(report), _) => cells(report),
        (None, failure) => vec![
            row.task.peer.clone(),
            survives(row.task.survives).to_owned(),
            grouped(row.task.windows[0] as f64),
            format!("FAILED: {}", failure.as_deref().unwrap_or_default()),
        ],
    }
}

fn survives(level: Survives) -> &'static str {
    match level {
        Survives::Nothing => "nothing",
        Survives::Kill => "kill",
        Survives::Power => "power cut",
    }
}

fn checks(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut lines = vec![line(["peer", "survives", "answers compared"])];
    lines.extend(rows.iter().map(|row| {
        cells_or_failure(row, |report| {
            let level = survives(row.task.survives);
            line([
                &row.task.peer,
                level,
                &grouped(report.answers_checked as f64),
            ])
        })
    }));
    lines
}

fn adds(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut lines = vec![
        line([
            "",
            "",
            "",
            "",
            "ours",
            "us of an add",
            "",
            "",
            "",
            "bytes an add",
            "",
            "bytes an ID",
            "",
            "",
        ]),
        line([
            "peer", "survives", "window", "adds/s", "is x", "p50", "p99", "p99.9", "max", "calls",
            "device", "disk", "memory", "mapped",
        ]),
    ];
    lines.extend(
        rows.iter()
            .map(|row| cells_or_failure(row, |report| add_cells(rows, row, report))),
    );
    lines
}

fn add_cells(rows: &[&Row], row: &Row, report: &Report) -> Vec<String> {
    let rate = report.adds_per_second.unwrap_or(f64::NAN);
    let ours = rows
        .iter()
        .find(|other| other.task.peer == "idjournal" && other.task.windows == row.task.windows);
    let ours = ours.and_then(|ours| ours.report.as_ref()?.adds_per_second);
    let mut name = row.task.peer.clone();
    let shares_syncs = find(&name).is_some_and(|kind| kind.shares_syncs);
    if matches!(row.task.work, Work::Threads { .. }) && !shares_syncs {
        name.push_str(" (grouped here)");
    }
    let ids: usize = row.task.windows.iter().sum();
    let mut cells = vec![
        name,
        survives(row.task.survives).to_owned(),
        grouped(row.task.windows[0] as f64),
        grouped(rate),
        ours.map_or_else(String::new, |ours| format!("{:.3}", ours / rate)),
    ];
    if let Some(ratio) = cells.last_mut().filter(|ratio| !ratio.is_empty()) {
        let number: f64 = ratio.parse().unwrap_or(f64::NAN);
        *ratio = if number < 10.0 {
            format!("{number:.2}")
        } else {
            grouped(number)
        };
    }
    cells.extend(latency_cells(report.latency));
    let bytes = report.bytes.map(|bytes| [bytes.by_calls, bytes.to_device]);
    cells.extend(bytes.map_or_else(Vec::new, |bytes| bytes.map(grouped).to_vec()));
    let disk = report
        .disk_bytes
        .map(|bytes| grouped(bytes as f64 / ids as f64));
    cells.push(disk.unwrap_or_default());
    let memory = report.memory.map(|memory| [memory.own, memory.mapped]);
    cells.extend(memory.map_or_else(Vec::new, |memory| memory.map(grouped).to_vec()));
    cells
}

fn latency_cells(latency: Option<Latency>) -> [String; 4] {
    let Some(latency) = latency else {
        return Default::default();
    };
    [latency.p50, latency.p99, latency.p999, latency.max].map(|microseconds| {
        if microseconds < 100.0 {
            format!("{microseconds:.1}")
        } else {
            grouped(microseconds)
        }
    })
}

fn reopenings(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut lines = vec![line(["peer", "survives", "IDs", "s", "s per million"])];
    lines.extend(rows.iter().map(|row| {
        cells_or_failure(row, |report| {
            let Some(reopen) = report.reopen else {
                return vec![row.task.peer.clone()];
            };
            let per_million = reopen.seconds * 1e6 / reopen.ids as f64;
            line([
                &row.task.peer,
                survives(row.task.survives),
                &grouped(reopen.ids as f64),
                &format!("{:.3}", reopen.seconds),
                &format!("{per_million:.3}"),
            ])
        })
    }));
    lines
}

fn scaling(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = vec![line(["peer"])];
    for row in rows {
        let Work::Threads { count } = row.task.work else {
            continue;
        };
        let count = count.to_string();
        if !lines[0].contains(&count) {
            lines[0].push(count);
        }
        let rate = row
            .report
            .as_ref()
            .and_then(|report| report.adds_per_second);
        let rate = rate.map_or_else(|| "FAILED".to_owned(), grouped);
        match lines[1..].iter_mut().find(|line| line[0] == row.task.peer) {
            Some(line) => line.push(rate),
            None => lines.push(vec![row.task.peer.clone(), rate]),
        }
    }
    lines
}

fn cliffs(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut lines = vec![line([
        "peer",
        "median before",
        "median after",
        "ratio",
        "max before",
        "max after",
    ])];
    lines.extend(rows.iter().map(|row| {
        cells_or_failure(row, |report| {
            let full = row.task.windows[0] as u64;
            let part = |is_after: bool| {
                let points = report
                    .cliff
                    .iter()
                    .filter(move |point| (point.add > full) == is_after);
                let mut medians: Vec<f64> = points.clone().map(|point| point.median).collect();
                medians.sort_by(f64::total_cmp);
                let max = points.map(|point| point.max).fold(0.0, f64::max);
                (
                    medians.get(medians.len() / 2).copied().unwrap_or(f64::NAN),
                    max,
                )
            };
            let ((before, max_before), (after, max_after)) = (part(false), part(true));
            line([
                &row.task.peer,
                &format!("{before:.2}"),
                &format!("{after:.2}"),
                &format!("{:.1}", after / before),
                &grouped(max_before),
                &grouped(max_after),
            ])
        })
    }));
    lines
}

/// A number without a fraction, its digits in threes.
fn grouped(number: f64) -> String {
    if !number.is_finite() {
        return "-".to_owned();
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
