//! What users of Apache Artemis bring along: its settings, its IDs and its names.
//!
//! Nothing here opens or changes a store. How each of Artemis's features is done with this engine,
//! and what differs, is told in docs/artemis.md of the repository.
//!
//! # Settings
//!
//! [`read_broker_xml`] takes the size of the caches, their persistence and the address settings
//! from the file that the broker has.
//!
//! # IDs
//!
//! Artemis takes a message's ID from the property [`DUPLICATE_ID_HEADER`]. Bytes are the ID as they
//! are. Text it turns into UTF-16, the low byte first, before it looks it up, and so it stands in
//! its journal. **Here text is best taken as received, as UTF-8**: half the bytes, and readable in
//! `journal-dump`. Only to recognise what Artemis has stored, when its IDs are brought over, take
//! [`stored_id`] of the text instead, and then for all of an address: for this engine the two forms
//! of one text are two IDs.
//!
//! # Examples
//!
//! A broker that receives from clients and from bridges:
//!
//! ```
//! use idjournal::artemis::{duplicate_warning, id_of};
//! use idjournal::{Bytes, Options, Outcome, Store};
//!
//! # fn main() -> idjournal::Result<()> {
//! # let store = Store::in_memory(Options::default())?;
//! # let mut warnings = Vec::new();
//! let properties = [("_AMQ_GROUP_ID", "7"), ("_AMQ_DUPL_ID", "order-1842")];
//! let property = |wanted: &str| properties.iter().find(|(name, _)| *name == wanted);
//! for _ in 0..2 {
//!     let Some((namespace, (name, id))) = id_of(property) else { continue };
//!     if let Outcome::Duplicate(_) = store.cache_in(namespace, "orders")?.add(id)? {
//!         let id = Bytes::from(id.as_bytes());
//!         let warning = duplicate_warning(format!("address=orders, {name}={id}"));
//! #       warnings.push(warning.to_string());
//!         eprintln!("{warning}");
//!     }
//! }
//! # assert_eq!(warnings.len(), 1);
//! # Ok(())
//! # }
//! ```

use std::fmt::{self, Display};

use crate::Namespace;

mod broker_xml;
mod document;
mod fault;
mod values;

pub use broker_xml::{read_broker_xml, read_broker_xml_with};
pub use fault::{BrokerXmlError, BrokerXmlFault};

/// The property of a message that holds the ID its client gave it: text or bytes, unique within the
/// address. Its cache is that of [`Namespace::Client`].
pub const DUPLICATE_ID_HEADER: &str = "_AMQ_DUPL_ID";

/// The property of a message that holds the ID a bridge or cluster connection gave it: the 24 bytes
/// of [`bridge_id`]. Its cache is that of [`Namespace::Bridge`]; see [`id_of`] for a message with
/// both.
pub const BRIDGE_DUPLICATE_ID_HEADER: &str = "_AMQ_BRIDGE_DUP";

/// As [`DUPLICATE_ID_HEADER`], of clients of HornetQ, from which Artemis came.
pub const HORNETQ_DUPLICATE_ID_HEADER: &str = "_HQ_DUPL_ID";

/// As [`BRIDGE_DUPLICATE_ID_HEADER`], of HornetQ.
pub const HORNETQ_BRIDGE_DUPLICATE_ID_HEADER: &str = "_HQ_BRIDGE_DUP";

/// What Artemis puts before an address to name the cache of its bridges' IDs: see [`cache_of`].
pub const BRIDGE_PREFIX: &str = "BRIDGE.";

/// The number of Artemis's warning about a duplicate, by which log watchers know it.
pub const DUPLICATE_WARNING: &str = "AMQ222059";

/// The bytes of a [`bridge_id`].
pub const BRIDGE_ID_BYTES: usize = 24;

/// Which cache the ID in the property `header` belongs to; none if it holds no ID.
///
/// # Examples
///
/// ```
/// use idjournal::Namespace;
/// use idjournal::artemis::namespace_of;
///
/// assert_eq!(namespace_of("_AMQ_DUPL_ID"), Some(Namespace::Client));
/// assert_eq!(namespace_of("_HQ_BRIDGE_DUP"), Some(Namespace::Bridge));
/// assert_eq!(namespace_of("_AMQ_GROUP_ID"), None);
/// ```
pub fn namespace_of(header: &str) -> Option<Namespace> {
    match header {
        DUPLICATE_ID_HEADER | HORNETQ_DUPLICATE_ID_HEADER => Some(Namespace::Client),
        BRIDGE_DUPLICATE_ID_HEADER | HORNETQ_BRIDGE_DUPLICATE_ID_HEADER => Some(Namespace::Bridge),
        _ => None,
    }
}

/// The ID that decides whether a message is a duplicate, and the namespace it belongs to; none if
/// the message has no ID. `property` gives a property of the message by its name.
///
/// Where there is a bridge's ID that one decides alone, as in Artemis, and the client's is left out
/// of account: a message that a cluster moves to and fro is the client's one message each time. The
/// bridge's ID is to be taken off the message then, so that the next bridge sets its own.
///
/// # Examples
///
/// ```
/// use idjournal::Namespace;
/// use idjournal::artemis::id_of;
///
/// let both = |name: &str| match name {
///     "_AMQ_DUPL_ID" => Some("order-1842"),
///     "_AMQ_BRIDGE_DUP" => Some("24 bytes"),
///     _ => None,
/// };
/// assert_eq!(id_of(both), Some((Namespace::Bridge, "24 bytes")));
/// assert_eq!(id_of(|_| None::<&str>), None);
/// ```
pub fn id_of<T>(property: impl Fn(&str) -> Option<T>) -> Option<(Namespace, T)> {
    let headers = [
        BRIDGE_DUPLICATE_ID_HEADER,
        HORNETQ_BRIDGE_DUPLICATE_ID_HEADER,
        DUPLICATE_ID_HEADER,
        HORNETQ_DUPLICATE_ID_HEADER,
    ];
    headers
        .into_iter()
        .find_map(|header| Some((namespace_of(header)?, property(header)?)))
}

/// The namespace and the address of the cache that Artemis calls `name`, as in what it prints of
/// its journal.
///
/// # Examples
///
/// ```
/// use idjournal::Namespace;
/// use idjournal::artemis::cache_of;
///
/// assert_eq!(cache_of(b"orders"), (Namespace::Client, &b"orders"[..]));
/// assert_eq!(cache_of(b"BRIDGE.orders"), (Namespace::Bridge, &b"orders"[..]));
/// ```
pub fn cache_of(name: &[u8]) -> (Namespace, &[u8]) {
    match name.strip_prefix(BRIDGE_PREFIX.as_bytes()) {
        Some(address) => (Namespace::Bridge, address),
        None => (Namespace::Client, name),
    }
}

/// The ID that a bridge or cluster connection of the broker `node` gives the message with the
/// number `message`: both, big-endian, one behind the other.
///
/// It follows from the message alone, so that a resend has the same ID; the number must be the
/// message's own in that broker, not one counted per attempt.
///
/// # Examples
///
/// ```
/// use idjournal::artemis::bridge_id;
///
/// let id = bridge_id([0xab; 16], 0x0102);
/// assert_eq!(id[..16], [0xab; 16]);
/// assert_eq!(id[16..], [0, 0, 0, 0, 0, 0, 1, 2]);
/// ```
pub fn bridge_id(node: [u8; 16], message: u64) -> [u8; BRIDGE_ID_BYTES] {
    let mut id = [0; BRIDGE_ID_BYTES];
    let (begin, end) = id.split_at_mut(node.len());
    begin.copy_from_slice(&node);
    end.copy_from_slice(&message.to_be_bytes());
    id
}

/// The bytes that Artemis stores for an ID that is the text `id`, written over `buffer`: UTF-16,
/// the low byte first.
///
/// For matching what Artemis stored, and nothing else; see the head of this module. The buffer is
/// the caller's so that a run of IDs allocates once.
///
/// # Examples
///
/// ```
/// use idjournal::artemis::stored_id;
/// use idjournal::{Options, Outcome, Store};
///
/// # fn main() -> idjournal::Result<()> {
/// let store = Store::in_memory(Options::default())?;
/// let orders = store.cache("orders")?;
/// let mut buffer = Vec::new();
/// // What Artemis had, brought over byte by byte:
/// let _ = orders.add(b"4\x002\x00")?;
/// // A client sends the same text again:
/// assert!(matches!(orders.add(stored_id("42", &mut buffer))?, Outcome::Duplicate(_)));
/// # Ok(())
/// # }
/// ```
pub fn stored_id<'a>(id: &str, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.clear();
    buffer.extend(id.encode_utf16().flat_map(u16::to_le_bytes));
    buffer
}

/// Artemis's warning about a duplicate, of the message that `message` describes, to be written to
/// the broker's log as it is shown.
///
/// Artemis puts its own description of a message there. Bytes of clients are best shown as
/// [`Bytes`](crate::Bytes), which escape what a terminal could act on. A resend storm makes one
/// warning a message: limit how many are logged.
///
/// # Examples
///
/// ```
/// use idjournal::Bytes;
/// use idjournal::artemis::duplicate_warning;
///
/// let id = Bytes::from(&b"order-1842"[..]);
/// assert_eq!(
///     duplicate_warning(format_args!("address=orders, id={id}")).to_string(),
///     "AMQ222059: Duplicate message detected - message will not be routed. \
///      Message information:\naddress=orders, id=order-1842",
/// );
/// ```
pub fn duplicate_warning<M: Display>(message: M) -> impl Display {
    Warning(message)
}

struct Warning<M>(M);

impl<M: Display> Display for Warning<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{DUPLICATE_WARNING}: Duplicate message detected - message will not be routed. \
             Message information:\n{}",
            self.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_stored_as_java_counts_it() {
        let mut buffer = vec![7; 100];
        let table: [(&str, &[u8]); 4] = [
            ("", &[]),
            ("id", b"i\0d\0"),
            ("\u{e9}\u{20ac}", &[0xe9, 0, 0xac, 0x20]),
            ("\u{1f600}", &[0x3d, 0xd8, 0x00, 0xde]),
        ];
        for (text, bytes) in table {
            assert_eq!(stored_id(text, &mut buffer), bytes, "{text}");
        }
    }

    #[test]
    fn the_id_of_a_bridge_is_the_node_and_the_number_the_high_byte_first() {
        let node = std::array::from_fn(|at| u8::try_from(at).unwrap_or_default());
        let id = bridge_id(node, 0x8182_8384_8586_8788);
        assert_eq!(id[..16], node);
        let number = [0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88];
        assert_eq!(id[16..], number);
        assert_ne!(bridge_id(node, 1), bridge_id(node, 1 << 8));
    }
}
