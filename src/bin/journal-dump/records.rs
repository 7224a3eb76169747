//! The view `records`: every record in order.

use std::ops::ControlFlow;

use idjournal::Namespace;
use idjournal::inspect::{Definition, Dropped, Element, Finding, Inspection, Item, Names, Record};
use idjournal::{Ordinal, Ticks};

use crate::arguments::Arguments;
use crate::element;
use crate::failure::Failure;
use crate::json::JsonRecord;
use crate::line::Line;
use crate::output::Output;
use crate::settings;
use crate::time;

const SEGMENT_WIDTH: usize = 8;
const OFFSET_WIDTH: usize = 9;
const KIND: usize = SEGMENT_WIDTH + 1 + OFFSET_WIDTH + 1;
const FLAGS: usize = KIND + 15;
pub(crate) const ADDRESS: usize = FLAGS + 6;
const ORDINAL: usize = ADDRESS + 28;
const ORDINAL_WIDTH: usize = 10;
pub(crate) const ID: usize = ORDINAL + ORDINAL_WIDTH + 1;
const TIME: usize = ID + 42;

/// Which records are shown, and with which names.
pub(crate) struct Shown<'a> {
    pub(crate) names: &'a Names,
    arguments: &'a Arguments,
}

impl Shown<'_> {
    /// Whether records of this address are shown.
    pub(crate) fn has(&self, address: u32) -> bool {
        if self.arguments.address.is_none() {
            return true;
        }
        let name = self.names.get(address);
        name.is_some_and(|(_, name)| self.arguments.shows(name))
    }

    pub(crate) fn has_element(&self, element: &Element<'_>) -> bool {
        match element {
            Element::Add { address, .. } | Element::Remove { address, .. } => self.has(*address),
            _ => self.arguments.address.is_none(),
        }
    }

    fn has_record(&self, record: &Record<'_>) -> bool {
        match record {
            Record::Add(add) | Record::Renew { add, .. } => self.has(add.address),
            Record::Remove { address, .. } | Record::Clear { address, .. } => self.has(*address),
            Record::Drop { dropped, other, .. } => {
                self.has(dropped.address) || other.is_some_and(|other| self.has(other.address))
            }
            Record::Definition(definition) => self.arguments.shows(definition.name),
            Record::Transaction { elements, .. } | Record::Prepare { elements, .. } => {
                self.arguments.address.is_none() || { *elements }
                    .any(|element| self.has_element(&element))
            }
            _ => self.arguments.address.is_none(),
        }
    }
}

/// Shows all records; what was found on the way, and whether anything was shown.
pub(crate) fn show(
    inspection: &Inspection,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(Vec<Finding>, bool), Failure> {
    let names = inspection.names()?;
    let shown = Shown {
        names: &names,
        arguments,
    };
    let mut line = Line::default();
    if !arguments.json {
        head(&mut line);
        output.line(&mut line)?;
    }
    let (mut failure, mut is_any) = (None, false);
    let found = inspection.records(&mut |item| {
        if !shown.has_record(&item.decoded.record) {
            return ControlFlow::Continue(());
        }
        is_any = true;
        let written = if arguments.json {
            output.json(&JsonRecord {
                item,
                shown: &shown,
            })
        } else {
            record(&mut line, &shown, item, output)
        };
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failure.map_or(Ok((found, is_any)), Err)
}

fn head(line: &mut Line) {
    line.right_text("segment", SEGMENT_WIDTH);
    line.right_text("offset", OFFSET_WIDTH + 1);
    for (column, name) in [(KIND, "kind"), (FLAGS, "flags"), (ADDRESS, "address")] {
        line.column(column);
        line.text(name);
    }
    line.column(ORDINAL);
    line.right_text("ordinal", ORDINAL_WIDTH);
    for (column, name) in [(ID, "id"), (TIME, "time")] {
        line.column(column);
        line.text(name);
    }
}

fn record(
    line: &mut Line,
    shown: &Shown<'_>,
    item: &Item<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let decoded = item.decoded;
    line.right(item.segment.0, SEGMENT_WIDTH);
    line.spaces(1);
    line.right(item.offset, OFFSET_WIDTH);
    line.column(KIND);
    line.text(item.kind_name());
    line.column(FLAGS);
    let flags = [
        (decoded.mark.is_some(), "m"),
        (decoded.whole, "w"),
        (decoded.carried, "c"),
        (decoded.end_of_group, "e"),
    ];
    for (is_set, letter) in flags {
        line.text(if is_set { letter } else { "-" });
    }
    let place = place(&decoded.record);
    line.column(ADDRESS);
    match (&decoded.record, place.address) {
        (Record::Definition(definition), _) => {
            name(line, definition.namespace, definition.name);
        }
        (_, Some(number)) => address(line, shown.names, number),
        (_, None) => line.text("-"),
    }
    ordinal(line, place.ordinal);
    line.column(ID);
    content(line, &decoded.record);
    line.column(TIME);
    match place.time {
        Some(time) => time::write(line, time),
        None => line.text("-"),
    }
    output.line(line)?;
    more(line, shown, &decoded.record, output)
}

pub(crate) fn ordinal(line: &mut Line, ordinal: Option<Ordinal>) {
    line.column(ORDINAL);
    match ordinal {
        Some(ordinal) => line.right(ordinal.0, ORDINAL_WIDTH),
        None => line.right_text("-", ORDINAL_WIDTH),
    }
}

/// What many kinds have in common.
#[derive(Default)]
pub(crate) struct Common {
    pub(crate) address: Option<u32>,
    pub(crate) ordinal: Option<Ordinal>,
    pub(crate) time: Option<Ticks>,
}

pub(crate) fn place(record: &Record<'_>) -> Common {
    let common = |address, ordinal, time: &Ticks| Common {
        address,
        ordinal,
        time: Some(*time),
    };
    match record {
        Record::Add(add) | Record::Renew { add, .. } => {
            common(Some(add.address), Some(add.ordinal), &add.time)
        }
        Record::Remove {
            address,
            ordinal,
            time,
        } => common(Some(*address), Some(*ordinal), time),
        Record::Clear { address, time, .. } => common(Some(*address), None, time),
        Record::Drop { dropped, time, .. } => common(Some(dropped.address), None, time),
        Record::Definition(definition) => common(Some(definition.address), None, &definition.time),
        Record::Transaction { time, .. }
        | Record::Prepare { time, .. }
        | Record::Commit { time, .. }
        | Record::RollBack { time, .. }
        | Record::Settings { time, .. }
        | Record::Bookmark { time, .. } => common(None, None, time),
        _ => Common::default(),
    }
}

pub(crate) fn address(line: &mut Line, names: &Names, number: u32) {
    match names.get(number) {
        Some((namespace, bytes)) => name(line, namespace, bytes),
        None => {
            line.text("#");
            line.number(u64::from(number));
        }
    }
}

fn name(line: &mut Line, namespace: Namespace, bytes: &[u8]) {
    line.text(namespace_name(namespace));
    line.text("/");
    line.bytes(bytes);
}

pub(crate) fn namespace_name(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Client => "client",
        Namespace::Bridge => "bridge",
    }
}

/// A definition in few words: what is as it is at first is left out.
fn definition(definition: &Definition<'_>) -> String {
    let mut text = format!("capacity {}", definition.capacity);
    let mut add = |is_said: bool, words: String| {
        if is_said {
            text.push_str(", ");
            text.push_str(&words);
        }
    };
    add(definition.by_call, "by call".to_owned());
    add(
        definition.max_age > 0,
        format!("age {}", definition.max_age),
    );
    add(definition.age_by_call, "age by call".to_owned());
    let incarnation = definition.incarnation;
    add(incarnation > 0, format!("incarnation {incarnation}"));
    add(
        definition.floor.0 > 1,
        format!("floor {}", definition.floor),
    );
    add(definition.last.0 > 0, format!("last {}", definition.last));
    text
}

/// What stands in the place of the ID.
fn content(line: &mut Line, record: &Record<'_>) {
    match record {
        Record::Add(add) | Record::Renew { add, .. } => line.bytes(add.id),
        Record::Clear { floor, .. } => line.text(&format!("all below {floor}")),
        Record::Drop { dropped, .. } => self::dropped(line, dropped),
        Record::Definition(definition) => line.text(&self::definition(definition)),
        Record::Transaction { elements, .. } => {
            line.text(&format!("{} changes", (*elements).count()))
        }
        Record::Prepare {
            owner,
            transaction,
            elements,
            ..
        } => {
            line.bytes(transaction);
            let count = (*elements).count();
            line.text(&format!(" of owner {owner}, {count} changes"));
        }
        Record::Commit {
            transaction,
            ordinals,
            ..
        } => {
            line.bytes(transaction);
            line.text(&format!(", {} ordinals", ordinals.len()));
        }
        Record::RollBack { transaction, .. } => line.bytes(transaction),
        Record::Bookmark { name, .. } => line.bytes(name),
        Record::Settings { .. } => settings::text(line, record),
        Record::Seal { number, salt } => {
            line.text(&format!("to segment {number} of salt {salt:016x}"))
        }
        Record::Release { oldest } => line.text(&format!("all before segment {oldest}")),
        Record::Skipped { kind } => line.text(&format!("kind {kind}")),
        _ => line.text("-"),
    }
}

fn dropped(line: &mut Line, dropped: &Dropped) {
    let (incarnation, floor) = (dropped.incarnation, dropped.floor);
    line.text(&format!("incarnation {incarnation}, all below {floor}"));
}

/// The lines below that of the record.
fn more(
    line: &mut Line,
    shown: &Shown<'_>,
    record: &Record<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let value = |line: &mut Line, value: Option<&[u8]>, output: &mut Output| {
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return Ok(());
        };
        below(line, "value");
        line.column(ID);
        line.bytes(value);
        output.line(line)
    };
    match record {
        Record::Add(add) => value(line, add.value, output),
        Record::Renew { add, old } => {
            below(line, "place before");
            ordinal(line, Some(*old));
            output.line(line)?;
            value(line, add.value, output)
        }
        Record::Bookmark { value: bytes, .. } => value(line, Some(bytes), output),
        Record::Drop {
            other: Some(other), ..
        } => {
            below(line, "drop");
            line.column(ADDRESS);
            address(line, shown.names, other.address);
            line.column(ID);
            dropped(line, other);
            output.line(line)
        }
        Record::Transaction { elements, .. } | Record::Prepare { elements, .. } => {
            let is_prepared = matches!(record, Record::Prepare { .. });
            for element in (*elements).filter(|element| shown.has_element(element)) {
                element::put(line, shown.names, &element, is_prepared);
                output.line(line)?;
                if let Element::Add { value: bytes, .. } = element {
                    value(line, bytes, output)?;
                }
            }
            Ok(())
        }
        Record::Commit { ordinals, .. } => {
            for given in *ordinals {
                below(line, "add");
                ordinal(line, Some(given).filter(|given| given.0 > 0));
                output.line(line)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

pub(crate) fn below(line: &mut Line, what: &str) {
    line.spaces(KIND + 2);
    line.text(what);
}
