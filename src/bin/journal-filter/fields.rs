//! Where the address and the ID of a line stand.

use std::num::NonZeroUsize;

use idjournal::Bytes;
use memchr::memchr_iter;

use crate::arguments::Arguments;
use crate::failure::BadLine;
use crate::json::{self, Pointer};

const ADDRESS: &str = "address";
const ID: &str = "ID";

/// Finds address and ID in a line; its buffers are used again for the next.
pub(crate) struct Fields {
    layout: Layout,
    address: Vec<u8>,
    id: Vec<u8>,
}

/// The address and the ID of a line.
pub(crate) struct Place<'a> {
    pub(crate) address: &'a [u8],
    pub(crate) id: &'a [u8],
}

enum Layout {
    /// Address and ID by number of field, where they are in one.
    Delimited {
        delimiter: u8,
        address: Option<NonZeroUsize>,
        id: Option<NonZeroUsize>,
    },
    /// Pointers to address and ID, where they are in the JSON.
    Json { pointers: [Option<Pointer>; 2] },
}

impl Fields {
    /// As the command line says.
    pub(crate) fn new(arguments: &Arguments) -> Fields {
        let pointers = [arguments.json_address.clone(), arguments.json_id.clone()];
        let layout = if pointers.iter().any(Option::is_some) {
            Layout::Json { pointers }
        } else {
            let delimiter = arguments.delimiter();
            Layout::Delimited {
                delimiter,
                address: arguments.address_field,
                id: arguments.id_field,
            }
        };
        // What an address that stands in the lines overwrites at each of them.
        let address = arguments
            .address
            .as_ref()
            .map(|name| name.as_encoded_bytes());
        let address = address.unwrap_or(b"default").to_vec();
        Fields {
            layout,
            address,
            id: Vec::new(),
        }
    }

    /// The address and the ID of `line`, which is without its newline.
    ///
    /// # Errors
    ///
    /// [`BadLine`], if one of them is not there.
    pub(crate) fn locate<'a>(&'a mut self, line: &'a [u8]) -> Result<Place<'a>, BadLine> {
        match &self.layout {
            Layout::Delimited {
                delimiter,
                address,
                id,
            } => {
                let [found_address, found_id] = fields(line, *delimiter, [*address, *id]);
                let address = match address {
                    None => &self.address,
                    Some(number) => found_address.ok_or(no_field(ADDRESS, *number))?,
                };
                let id = match id {
                    None => line,
                    Some(number) => found_id.ok_or(no_field(ID, *number))?,
                };
                Ok(Place { address, id })
            }
            Layout::Json { pointers } => {
                let [address_value, id_value] = json::find(line, pointers)?;
                let [address_pointer, id_pointer] = pointers;
                let address = match address_pointer {
                    None => &self.address,
                    Some(pointer) => scalar(address_value, pointer, ADDRESS, &mut self.address)?,
                };
                let id = match id_pointer {
                    None => line,
                    Some(pointer) => scalar(id_value, pointer, ID, &mut self.id)?,
                };
                Ok(Place { address, id })
            }
        }
    }
}

fn no_field(what: &'static str, number: NonZeroUsize) -> BadLine {
    BadLine::NoField {
        what,
        number: number.get(),
    }
}

fn scalar<'a>(
    value: Option<&'a str>,
    pointer: &Pointer,
    what: &'static str,
    decoded: &'a mut Vec<u8>,
) -> Result<&'a [u8], BadLine> {
    let shown = || Bytes::from(pointer.text().as_bytes());
    let value = value.ok_or_else(|| BadLine::NoValue {
        what,
        pointer: shown(),
    })?;
    json::scalar(value, decoded)?.ok_or_else(|| BadLine::WrongType {
        what,
        pointer: shown(),
    })
}

/// The two fields of `line` with these numbers, in one pass that ends at the later one.
fn fields(line: &[u8], delimiter: u8, wanted: [Option<NonZeroUsize>; 2]) -> [Option<&[u8]>; 2] {
    let mut found = [None; 2];
    let last = wanted
        .iter()
        .flatten()
        .max()
        .map_or(0, |number| number.get());
    let ends = memchr_iter(delimiter, line).chain(std::iter::once(line.len()));
    let mut start = 0;
    for (number, end) in (1..=last).zip(ends) {
        for (place, wanted) in found.iter_mut().zip(wanted) {
            if wanted.is_some_and(|wanted| wanted.get() == number) {
                *place = line.get(start..end);
            }
        }
        start = end + 1;
    }
    found
}
