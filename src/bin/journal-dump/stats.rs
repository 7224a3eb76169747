//! The view `stats`: what lives, per address and per segment.

use idjournal::inspect::{
    AddressStatistics, Finding, Inspection, Known, SegmentStatistics, Statistics, StoreFacts,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::json::{ADDRESS, ID, bytes, hexadecimal, origin};
use crate::line::Line;
use crate::output::Output;
use crate::records::namespace_name;
use crate::time;

const ADDRESS_COLUMNS: [(&str, usize); 7] = [
    ("capacity", 11),
    ("live", 11),
    ("holes", 11),
    ("floor", 11),
    ("last", 11),
    ("bytes", 12),
    ("number", 8),
];
const SEGMENT_COLUMNS: [(&str, usize); 6] = [
    ("segment", 9),
    ("slot", 7),
    ("bytes", 11),
    ("records", 10),
    ("used", 11),
    ("live", 11),
];
const NAME_WIDTH: usize = 28;

/// Shows what lives; what was found on the way, and whether there is an address to be shown.
pub(crate) fn show(
    inspection: &mut Inspection,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(Vec<Finding>, bool), Failure> {
    let statistics = inspection.statistics()?;
    let addresses: Vec<&AddressStatistics> = statistics
        .addresses
        .iter()
        .filter(|address| arguments.shows(&address.name.0))
        .collect();
    let is_any = !addresses.is_empty();
    let total = Total {
        store: inspection.store(),
        statistics: &statistics,
        free_slots: inspection.free_slots().count(),
        free_bytes: inspection.free_slots().map(|free| free.bytes).sum(),
    };
    if arguments.json {
        for address in addresses {
            output.json(&JsonAddress(address))?;
        }
        if arguments.address.is_none() {
            for segment in &statistics.segments {
                output.json(&JsonSegment(segment))?;
            }
            output.json(&total)?;
        }
        return Ok((statistics.findings, is_any));
    }
    let mut line = Line::default();
    address_table(&addresses, &mut line, output)?;
    if arguments.address.is_none() {
        segment_table(&statistics.segments, &mut line, output)?;
        total_lines(&total, output)?;
    }
    Ok((statistics.findings, is_any))
}

fn address_table(
    addresses: &[&AddressStatistics],
    line: &mut Line,
    output: &mut Output,
) -> Result<(), Failure> {
    line.text("address");
    line.column(NAME_WIDTH);
    for (name, width) in ADDRESS_COLUMNS {
        line.right_text(name, width);
    }
    line.text("  origin");
    output.line(line)?;
    for address in addresses {
        line.text(namespace_name(address.namespace));
        line.text("/");
        line.bytes(&address.name.0);
        line.column(NAME_WIDTH);
        let numbers = [
            address.capacity,
            address.live,
            address.holes,
            address.floor.0,
            address.last.0,
            address.live_bytes,
            u64::from(address.number),
        ];
        for (number, (_, width)) in numbers.into_iter().zip(ADDRESS_COLUMNS) {
            line.right(number, width);
        }
        line.text("  ");
        line.text(origin(address.by_call));
        output.line(line)?;
        for (what, known) in [("oldest", &address.oldest), ("newest", &address.newest)] {
            if let Some(known) = known {
                known_line(what, known, line, output)?;
            }
        }
    }
    Ok(())
}

fn known_line(
    what: &str,
    known: &Known,
    line: &mut Line,
    output: &mut Output,
) -> Result<(), Failure> {
    line.text("  ");
    line.text(what);
    line.right(known.ordinal.0, 12);
    line.text("  ");
    time::write(line, known.time);
    line.text("  ");
    line.bytes(&known.id.0);
    output.line(line)
}

fn segment_table(
    segments: &[SegmentStatistics],
    line: &mut Line,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(line)?;
    for (name, width) in SEGMENT_COLUMNS {
        line.right_text(name, width);
    }
    line.right_text("share", 9);
    output.line(line)?;
    for segment in segments {
        let numbers = [
            segment.number.0,
            u64::from(segment.slot.0),
            segment.bytes,
            segment.records,
            segment.record_bytes,
            segment.live_bytes,
        ];
        for (number, (_, width)) in numbers.into_iter().zip(SEGMENT_COLUMNS) {
            line.right(number, width);
        }
        line.right_text(&share(segment.live_thousandths()), 9);
        output.line(line)?;
    }
    Ok(())
}

/// Thousandths as per cent.
fn share(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

struct Total<'a> {
    store: Option<StoreFacts>,
    statistics: &'a Statistics,
    free_slots: usize,
    free_bytes: u64,
}

impl Total<'_> {
    fn live_ids(&self) -> u64 {
        let addresses = self.statistics.addresses.iter();
        addresses.map(|address| address.live).sum()
    }

    fn sum(&self, of: impl Fn(&SegmentStatistics) -> u64) -> u64 {
        self.statistics.segments.iter().map(of).sum()
    }
}

fn total_lines(total: &Total<'_>, output: &mut Output) -> Result<(), Failure> {
    let statistics = total.statistics;
    output.text("")?;
    output.text(&format!(
        "total: addresses {}, live IDs {}, bookmarks {}, prepared transactions {}, records {}",
        statistics.addresses.len(),
        total.live_ids(),
        statistics.bookmarks,
        statistics.prepared,
        statistics.records,
    ))?;
    output.text(&format!(
        "       segments {} (bytes {}, used {}, live {}), free slots {} (bytes {})",
        statistics.segments.len(),
        total.sum(|segment| segment.bytes),
        total.sum(|segment| segment.record_bytes),
        total.sum(|segment| segment.live_bytes),
        total.free_slots,
        total.free_bytes,
    ))?;
    let Some(store) = total.store else {
        return Ok(());
    };
    output.text(&format!(
        "store: {}, generation {}, marked up to {}, life begun in segment {}",
        hexadecimal(&store.identity),
        store.generation,
        store.mark,
        store.first,
    ))
}

impl Serialize for Total<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "total")?;
        map.serialize_entry("addresses", &self.statistics.addresses.len())?;
        map.serialize_entry("live_ids", &self.live_ids())?;
        map.serialize_entry("bookmarks", &self.statistics.bookmarks)?;
        map.serialize_entry("prepared", &self.statistics.prepared)?;
        map.serialize_entry("records", &self.statistics.records)?;
        map.serialize_entry("segments", &self.statistics.segments.len())?;
        map.serialize_entry("segment_bytes", &self.sum(|segment| segment.bytes))?;
        map.serialize_entry("record_bytes", &self.sum(|segment| segment.record_bytes))?;
        map.serialize_entry("live_bytes", &self.sum(|segment| segment.live_bytes))?;
        map.serialize_entry("free_slots", &self.free_slots)?;
        map.serialize_entry("free_bytes", &self.free_bytes)?;
        if let Some(store) = self.store {
            map.serialize_entry("identity", &hexadecimal(&store.identity))?;
            map.serialize_entry("generation", &store.generation)?;
            map.serialize_entry("mark_segment", &store.mark.segment().0)?;
            map.serialize_entry("mark_offset", &store.mark.offset())?;
            map.serialize_entry("first_segment", &store.first.0)?;
        }
        map.end()
    }
}

struct JsonAddress<'a>(&'a AddressStatistics);

impl Serialize for JsonAddress<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "address")?;
        map.serialize_entry("address_number", &address.number)?;
        map.serialize_entry("namespace", namespace_name(address.namespace))?;
        bytes(&mut map, ADDRESS, &address.name.0)?;
        map.serialize_entry("capacity", &address.capacity)?;
        map.serialize_entry("origin", origin(address.by_call))?;
        map.serialize_entry("max_age_ticks", &address.max_age)?;
        map.serialize_entry("age_origin", origin(address.age_by_call))?;
        map.serialize_entry("incarnation", &address.incarnation)?;
        map.serialize_entry("live", &address.live)?;
        map.serialize_entry("holes", &address.holes)?;
        map.serialize_entry("live_bytes", &address.live_bytes)?;
        map.serialize_entry("floor", &address.floor.0)?;
        map.serialize_entry("last", &address.last.0)?;
        map.serialize_entry("oldest", &address.oldest.as_ref().map(JsonKnown))?;
        map.serialize_entry("newest", &address.newest.as_ref().map(JsonKnown))?;
        map.end()
    }
}

struct JsonKnown<'a>(&'a Known);

impl Serialize for JsonKnown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ordinal", &self.0.ordinal.0)?;
        bytes(&mut map, ID, &self.0.id.0)?;
        map.serialize_entry("time", &time::text(self.0.time))?;
        map.end()
    }
}

struct JsonSegment<'a>(&'a SegmentStatistics);

impl Serialize for JsonSegment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "segment")?;
        map.serialize_entry("segment", &self.0.number.0)?;
        map.serialize_entry("slot", &self.0.slot.0)?;
        map.serialize_entry("bytes", &self.0.bytes)?;
        map.serialize_entry("records", &self.0.records)?;
        map.serialize_entry("record_bytes", &self.0.record_bytes)?;
        map.serialize_entry("live_bytes", &self.0.live_bytes)?;
        map.serialize_entry("live_thousandths", &self.0.live_thousandths())?;
        map.end()
    }
}
