//! Runs the tasks one after the other, each in a process of its own that is bounded in time.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::measure;
use crate::peer::{Failure, Result};
use crate::peers::redis;
use crate::plan::{Mode, Wanted};
use crate::task::{Report, Task};

/// The hidden option by which a process is told its task.
pub const TASK: &str = "--task";

/// What one process may take at most.
const LIMIT: Duration = Duration::from_secs(60);

/// One line of a table.
#[derive(Serialize)]
pub struct Row {
    pub mode: Mode,
    pub task: Task,
    pub report: Option<Report>,
    pub failure: Option<String>,
    /// How long the process took in all.
    pub seconds: f64,
}

/// Does all tasks; a failure of one is a row like the others.
pub fn all(wanted: &Wanted<'_>) -> Result<Vec<Row>> {
    let tasks = wanted.tasks();
    let mut rows = Vec::new();
    let count = tasks.len();
    for (index, (mode, task)) in tasks.into_iter().enumerate() {
        let work = serde_json::to_string(&task.work)?;
        let text = format!("{}/{count} {} {} {work}", index + 1, mode.name(), task.peer);
        eprint!("\r\x1b[K{text}");
        std::io::stderr().flush()?;
        let scratch = tempfile::Builder::new()
            .prefix("idjournal-peers-")
            .tempdir_in(&task.directory)?;
        let own = Task {
            directory: scratch.path().to_path_buf(),
            ..task.clone()
        };
        let began = Instant::now();
        let (report, failure) = match one(&own) {
            Ok(report) => (Some(report), None),
            Err(error) => (None, Some(error.to_string())),
        };
        // Where it worked is of no interest to the reader.
        let task = Task {
            directory: PathBuf::new(),
            ..task
        };
        rows.push(Row {
            mode,
            task,
            report,
            failure,
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    eprint!("\r\x1b[K");
    Ok(rows)
}

fn one(task: &Task) -> Result<Report> {
    let errors = task.directory.join("errors");
    let mut child = Command::new(std::env::current_exe()?)
        .arg(TASK)
        .arg(serde_json::to_string(task)?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .spawn()?;
    let status = wait(&mut child);
    if !matches!(&status, Ok(status) if status.success()) {
        end_server(&task.directory)?;
    }
    let status = status?;
    if !status.success() {
        let errors = std::fs::read_to_string(&errors)?;
        let last = errors.lines().last().unwrap_or("no word why");
        return Err(Failure::from(format!("{status}: {last}")));
    }
    let report = std::fs::read(task.directory.join("report"))?;
    Ok(serde_json::from_slice(&report)?)
}

/// Waits for a process; past the limit it is ended.
fn wait(child: &mut Child) -> Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            let text = format!("took over {} s", LIMIT.as_secs());
            return Err(Failure::from(text));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the server that a process left behind, if it did.
fn end_server(directory: &Path) -> Result<()> {
    let file = redis::process_file(&directory.join("peer"));
    let Ok(process) = std::fs::read_to_string(file) else {
        return Ok(());
    };
    let process = process.trim();
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    if name.trim() == redis::PROGRAM {
        Command::new("kill").arg(process).status()?;
    }
    Ok(())
}

/// In the process of its own: does the task and leaves the report.
pub fn child(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task)?;
    let report = measure::run(&task)?;
    std::fs::write(task.directory.join("report"), serde_json::to_vec(&report)?)?;
    Ok(())
}

/// How often a second 64 bytes can be written over and synced: what the disk alone does.
pub fn bare_syncs_per_second(directory: &Path) -> Result<f64> {
    let file = tempfile::tempfile_in(directory)?;
    file.write_all_at(&[0; 1 << 20], 0)?;
    file.sync_all()?;
    let (began, mut count) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(300) {
        file.write_all_at(&[1; 64], count * 64 % (1 << 20))?;
        file.sync_data()?;
        count += 1;
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}
