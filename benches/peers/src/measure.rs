//! The measurements of one process.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::grouped::Grouped;
use crate::ids::{ADDRESSES, Id, Stream};
use crate::peer::{Failure, Peer, Result, Session, Setup};
use crate::peers::{Kind, find};
use crate::reference::check;
use crate::task::{BytesWritten, CliffPoint, Latency, Memory, Reopened, Report, Task, Work};
use crate::usage::{Usage, disk_bytes};

/// IDs are made in chunks, outside of the time measured.
const CHUNK: usize = 4_096;
/// A chunk is doubled until it takes this long.
const CHUNK_TIME: Duration = Duration::from_millis(4);
/// The windows are filled by batches of this size.
const FILL: usize = 2_000;
/// Of each address so many IDs are looked for after reopening.
const LOOKED_FOR: usize = 50;
/// Adds to one point of the cliff.
const CLIFF_GROUP: usize = 100;

/// Does one task.
pub fn run(task: &Task) -> Result<Report> {
    let kind = find(&task.peer).ok_or("no such peer")?;
    let setup = Setup {
        directory: task.directory.join("peer"),
        windows: task.windows.clone(),
        survives: task.survives,
    };
    match task.work {
        Work::Check => Ok(Report {
            answers_checked: check(kind, &setup)?,
            ..Report::default()
        }),
        Work::Adds { batch, is_reopened } => {
            let mut run = Run::begin(kind, &setup)?;
            run.adds(batch, task.seconds)?;
            run.end(is_reopened)
        }
        Work::Reopen => Run::begin(kind, &setup)?.end(true),
        Work::Threads { count } => threads(kind, &setup, count, task.seconds),
        Work::Cliff { adds } => cliff(kind, &setup, adds),
    }
}

/// A peer with full windows, and what was seen of it.
struct Run<'a> {
    kind: &'a Kind,
    setup: &'a Setup,
    peer: Box<dyn Peer>,
    stream: Stream,
    before: Usage,
    report: Report,
}

impl<'a> Run<'a> {
    fn begin(kind: &'a Kind, setup: &'a Setup) -> Result<Run<'a>> {
        let mut before = Usage::now(None)?;
        let peer = kind.open(setup)?;
        if peer.server().is_some() {
            before = Usage::now(peer.server())?;
        }
        let mut stream = Stream::new(0);
        fill(&*peer, &setup.windows, &mut stream)?;
        Ok(Run {
            kind,
            setup,
            peer,
            stream,
            before,
            report: Report::default(),
        })
    }

    /// Throughput and bytes first, then latency, which costs a look at the clock for each add.
    fn adds(&mut self, batch: usize, seconds: f64) -> Result<()> {
        let server = self.peer.server();
        let mut session = self.peer.session()?;
        let before = Usage::now(server)?;
        let timed = timed_adds(&mut *session, &mut self.stream, batch, seconds, None)?;
        let after = Usage::now(server)?;
        let each = |bytes: u64| bytes as f64 / timed.adds as f64;
        self.report.adds = timed.adds;
        self.report.adds_per_second = Some(timed.per_second());
        self.report.bytes = Some(BytesWritten {
            by_calls: each(after.bytes_by_calls - before.bytes_by_calls),
            to_device: each(after.bytes_to_device - before.bytes_to_device),
        });
        // Where nobody waits for an add, its latency says nothing.
        if batch == 1 && !self.kind.is_in_flight {
            let mut histogram = Histogram::new(3)?;
            let histogram_of = Some(&mut histogram);
            timed_adds(
                &mut *session,
                &mut self.stream,
                1,
                seconds / 2.0,
                histogram_of,
            )?;
            self.report.latency = Some(latency(&histogram));
        }
        Ok(())
    }

    fn end(mut self, is_reopened: bool) -> Result<Report> {
        let ids: usize = self.setup.windows.iter().sum();
        let after = Usage::now(self.peer.server())?;
        let each = |bytes: u64| bytes as f64 / ids as f64;
        self.report.memory = Some(Memory {
            own: each(after.memory_own.saturating_sub(self.before.memory_own)),
            mapped: each(
                after
                    .memory_mapped
                    .saturating_sub(self.before.memory_mapped),
            ),
        });
        self.report.disk_bytes = Some(disk_bytes(&self.setup.directory)?);
        self.peer.close()?;
        if is_reopened {
            let began = Instant::now();
            let peer = self.kind.open(self.setup)?;
            let (address, id) = self.stream.take();
            is_new(peer.session()?.add(address, &id)?)?;
            self.report.reopen = Some(Reopened {
                seconds: began.elapsed().as_secs_f64(),
                ids: ids as u64,
            });
            self.report.answers_checked = look(&*peer, self.setup, &self.stream)?;
            peer.close()?;
        }
        Ok(self.report)
    }
}

fn is_new(answer: bool) -> Result<()> {
    if answer {
        return Ok(());
    }
    Err(Failure::from("a new ID was called a duplicate"))
}

/// Makes adds until every window is full.
fn fill(peer: &dyn Peer, windows: &[usize], stream: &mut Stream) -> Result<()> {
    let mut session = peer.session()?;
    let end = Stream::adds_to_fill(windows);
    let mut adds = Vec::with_capacity(FILL);
    while stream.position() < end {
        adds.clear();
        adds.extend((0..FILL).map(|_| stream.take()));
        session.fill(&adds)?;
    }
    session.settle()
}

/// Looks for some of the IDs that must be known, and for the newest one that must not be.
fn look(peer: &dyn Peer, setup: &Setup, stream: &Stream) -> Result<u64> {
    let mut session = peer.session()?;
    let mut looked = 0;
    for address in 0..ADDRESSES {
        let size = setup.windows[address];
        let step = (size - 1) / (LOOKED_FOR - 1);
        for (back, id) in stream.newest(address).take(size + 1).enumerate() {
            let expected = back == size;
            if !(expected || back.is_multiple_of(step) || back == size - 1) {
                continue;
            }
            if session.add(address, &id)? != expected {
                let text = format!("after reopening: address {address}, {back} adds back: wrong");
                return Err(text.into());
            }
            looked += 1;
        }
    }
    session.settle()?;
    Ok(looked)
}

struct Timed {
    adds: u64,
    time: Duration,
}

impl Timed {
    fn per_second(&self) -> f64 {
        self.adds as f64 / self.time.as_secs_f64()
    }
}

/// Adds new IDs for some seconds of time measured.
fn timed_adds(
    session: &mut dyn Session,
    stream: &mut Stream,
    batch: usize,
    seconds: f64,
    mut histogram: Option<&mut Histogram<u64>>,
) -> Result<Timed> {
    let limit = Duration::from_secs_f64(seconds);
    let mut timed = Timed {
        adds: 0,
        time: Duration::ZERO,
    };
    let mut chunk = batch;
    let mut adds: Vec<(usize, Id)> = Vec::with_capacity(CHUNK);
    let mut new = Vec::with_capacity(CHUNK);
    while timed.time < limit {
        adds.clear();
        new.clear();
        adds.extend((0..chunk).map(|_| stream.take()));
        let began = Instant::now();
        match &mut histogram {
            Some(histogram) => latencies(session, &adds, began, histogram)?,
            None if batch > 1 => {
                session.add_batch(&adds, &mut new)?;
                is_new(!new.contains(&false))?;
            }
            None => {
                for (address, id) in &adds {
                    is_new(session.add(*address, id)?)?;
                }
            }
        }
        let time = began.elapsed();
        timed.adds += adds.len() as u64;
        timed.time += time;
        if batch == 1 && time < CHUNK_TIME {
            chunk = (chunk * 2).min(CHUNK);
        }
    }
    let began = Instant::now();
    session.settle()?;
    timed.time += began.elapsed();
    Ok(timed)
}

fn latencies(
    session: &mut dyn Session,
    adds: &[(usize, Id)],
    mut began: Instant,
    histogram: &mut Histogram<u64>,
) -> Result<()> {
    for (address, id) in adds {
        is_new(session.add(*address, id)?)?;
        let now = Instant::now();
        histogram.record((now - began).as_nanos() as u64)?;
        began = now;
    }
    Ok(())
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1_000.0;
    let quantile = |quantile: f64| microseconds(histogram.value_at_quantile(quantile));
    Latency {
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: microseconds(histogram.max()),
    }
}

/// Many threads, each adding and waiting; where the peer does not share syncs, grouped here.
fn threads(kind: &Kind, setup: &Setup, count: usize, seconds: f64) -> Result<Report> {
    let mut run = Run::begin(kind, setup)?;
    let peer = &*run.peer;
    let grouped = match kind.shares_syncs {
        true => None,
        false => Some(Grouped::new(peer)?),
    };
    let before = Usage::now(peer.server())?;
    let barrier = Barrier::new(count);
    let work = |thread: usize| -> Result<(Timed, Histogram<u64>)> {
        let mut session = match &grouped {
            Some(grouped) => grouped.session(),
            None => peer.session()?,
        };
        let mut stream = Stream::new((thread as u64 + 1) << 40);
        let mut histogram = Histogram::new(3)?;
        barrier.wait();
        let (began, mut adds) = (Instant::now(), 0);
        let mut last = began;
        while (last - began).as_secs_f64() < seconds {
            let (address, id) = stream.take();
            is_new(session.add(address, &id)?)?;
            adds += 1;
            let now = Instant::now();
            histogram.record((now - last).as_nanos() as u64)?;
            last = now;
        }
        session.settle()?;
        let time = began.elapsed();
        Ok((Timed { adds, time }, histogram))
    };
    let results = std::thread::scope(|scope| {
        let work = &work;
        let spawn = |thread| scope.spawn(move || work(thread));
        let running: Vec<_> = (0..count).map(spawn).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .map_err(|_| Failure::from("a thread panicked"))?
        };
        running.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let after = Usage::now(peer.server())?;
    let mut all = Histogram::new(3)?;
    for (timed, histogram) in &results {
        run.report.adds += timed.adds;
        all.add(histogram)?;
    }
    let longest = results.iter().map(|(timed, _)| timed.time).max();
    let total = Timed {
        adds: run.report.adds,
        time: longest.unwrap_or_default(),
    };
    let each = |bytes: u64| bytes as f64 / total.adds as f64;
    run.report.adds_per_second = Some(total.per_second());
    if !kind.is_in_flight {
        run.report.latency = Some(latency(&all));
    }
    run.report.bytes = Some(BytesWritten {
        by_calls: each(after.bytes_by_calls - before.bytes_by_calls),
        to_device: each(after.bytes_to_device - before.bytes_to_device),
    });
    drop(grouped);
    run.end(false)
}

/// Each add timed, from an empty store on, to one address.
fn cliff(kind: &Kind, setup: &Setup, adds: usize) -> Result<Report> {
    let peer = kind.open(setup)?;
    let mut session = peer.session()?;
    let mut report = Report::default();
    let mut group = Vec::with_capacity(CLIFF_GROUP);
    for number in 0..adds as u64 {
        let id = crate::ids::id_of(number);
        let began = Instant::now();
        is_new(session.add(0, &id)?)?;
        group.push(began.elapsed().as_nanos() as f64 / 1_000.0);
        if group.len() == CLIFF_GROUP {
            group.sort_by(f64::total_cmp);
            report.cliff.push(CliffPoint {
                add: number + 1,
                median: group[CLIFF_GROUP / 2],
                max: group[CLIFF_GROUP - 1],
            });
            group.clear();
        }
    }
    report.adds = adds as u64;
    drop(session);
    peer.close()?;
    Ok(report)
}
