//! Serves the figures of a store as Prometheus text on a port of this machine.
//!
//! With an address as argument, such as `127.0.0.1:9184`, it serves until it is stopped. Without
//! one it asks itself once, as `curl` would, and checks that docs/operations.md shows what comes.

#![allow(clippy::print_stdout, reason = "a program says what it does")]

#[path = "prometheus_text.rs"]
mod prometheus_text;

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idjournal::meter::Meter;
use idjournal::{Clock, Options, Reserve, Store};
use prometheus_text::Text;

const PAGE: &str = include_str!("../operations.md");

/// What differs from run to run, for it hangs on how fast the disk is and of what kind.
const VARIES: [&str; 10] = [
    "syncs_total",
    "records_per_sync",
    "live_bytes",
    "slots",
    "segments",
    "disk_bytes",
    "used_bytes",
    "header_bytes_total",
    "record_bytes_total",
    "is_mapped",
];

/// The time of this example: an order comes every second.
#[derive(Default)]
struct Seconds(AtomicU64);

impl Clock for Seconds {
    fn wall(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Something to look at: a window that has gone round, duplicates, and a message in hand.
fn work(store: &Store, clock: &Seconds) -> Outcome<()> {
    let orders = store.cache("orders")?;
    let submit = |number| {
        clock.0.fetch_add(1, Ordering::Relaxed);
        orders.submit(format!("order-{number}"))
    };
    let receipts: Vec<_> = (0..1_500).map(submit).collect();
    for receipt in receipts {
        let _ = receipt.wait()?;
    }
    for number in 1_480..1_500 {
        let _ = orders.add(format!("order-{number}"))?;
    }
    if let Reserve::Reserved(claim) = orders.reserve("order-1500")? {
        claim.keep();
    }
    let _ = store.cache("invoices")?.add("invoice-7")?;
    Ok(())
}

/// Answers one scrape. The figures are recorded now: between scrapes they cost nothing.
fn serve(connection: TcpStream, meter: &mut Meter, text: &Text, store: &Store) -> Outcome<()> {
    let mut request = BufReader::new(&connection).lines();
    while request
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    // A program that has one recorder for all calls `metrics::set_global_recorder` instead, once.
    metrics::with_local_recorder(text, || meter.record(store));
    let body = text.show();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
    let mut connection = &connection;
    write!(
        connection,
        "{head}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

fn scrape(address: SocketAddr) -> Outcome<String> {
    let mut connection = TcpStream::connect(address)?;
    connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
    Ok(body.to_owned())
}

/// The lines that the page shows, which begin with the name of a metric.
fn shown() -> impl Iterator<Item = &'static str> {
    PAGE.lines().filter(|line| line.starts_with("idjournal_"))
}

/// Checks that each line of the page was served, values that vary aside.
fn check(body: &str) -> Outcome<()> {
    let comparable = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        let name = series.split('{').next()?;
        let value = match VARIES.iter().any(|end| name.ends_with(end)) {
            true => "",
            false => value,
        };
        Some(format!("{series} {value}"))
    };
    let served: Vec<String> = body.lines().filter_map(comparable).collect();
    for line in shown() {
        let line = comparable(line).ok_or("a line without a value")?;
        assert!(served.contains(&line), "not served: {line}\n{body}");
    }
    assert!(shown().count() > 40, "the page shows them all");
    Ok(())
}

fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let clock = Arc::new(Seconds::default());
    let options = Options::default().id_cache_size(1_000).clock(clock.clone());
    let store = Store::open(directory.path().join("ids"), options)?;
    work(&store, &clock)?;
    let (mut meter, text) = (Meter::new("ids"), Text::default());
    let asked = std::env::args()
        .nth(1)
        .filter(|address| address.contains(':'));
    let listener = TcpListener::bind(asked.as_deref().unwrap_or("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    if asked.is_some() {
        println!("http://{address}/metrics");
        loop {
            serve(listener.accept()?.0, &mut meter, &text, &store)?;
        }
    }
    let client = std::thread::spawn(move || scrape(address));
    serve(listener.accept()?.0, &mut meter, &text, &store)?;
    let body = client.join().map_err(|_| "the client panicked")??;
    print!("{body}");
    check(&body)
}
