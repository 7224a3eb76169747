//! No text makes the reader panic, or work for long.

use idjournal::artemis::{BrokerXmlFault, read_broker_xml};

use super::file;

fn is_too_large(text: &str) -> bool {
    let error = read_broker_xml(text).expect_err("is too large");
    matches!(error.fault, BrokerXmlFault::TooLarge { .. })
}

#[test]
fn what_the_parser_would_take_long_for_is_refused_before_it_begins() {
    let count = |range: std::ops::Range<usize>, each: &dyn Fn(usize) -> String| -> String {
        range.map(each).collect()
    };
    let attributes = count(0..40_000, &|at| format!(" a{at}='1'"));
    assert!(is_too_large(&format!("<core><a{attributes}/></core>")));
    let spaces = count(0..40_000, &|at| format!(" xmlns:a{at}='{at}'"));
    assert!(is_too_large(&format!("<core{spaces}/>")));
    let nested = count(0..20_000, &|at| format!("<a xmlns:a{at}='{at}'>"));
    assert!(is_too_large(&format!("<core>{nested}")));
    assert!(is_too_large(&format!(
        "<core>{}</core>",
        "<a/>".repeat(300_000)
    )));
    assert!(is_too_large(&format!(
        "<core>{}</core>",
        " ".repeat(4 << 20)
    )));
}

#[test]
fn what_is_large_but_within_limits_is_read() {
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    let settings = (0..10_000).map(|number| {
        format!(
            "<address-setting match='a{number}'><id-cache-size>7</id-cache-size></address-setting>"
        )
    });
    let settings: String = settings.collect();
    let text = format!("<core>{deep}<!-- {} --></core>", "=".repeat(10_000));
    read_broker_xml(text).expect("deep");
    let text = format!("<core><address-settings>{settings}</address-settings></core>");
    let settings = read_broker_xml(text).expect("long");
    let store = idjournal::Store::in_memory(settings.options).unwrap();
    assert_eq!(store.cache("a9999").unwrap().capacity(), 7);
}

#[test]
fn entities_are_refused_and_cannot_grow() {
    let bomb = "<!DOCTYPE core [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
                <!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
                <core><id-cache-size>&b;&f;</id-cache-size></core>";
    assert_eq!(
        read_broker_xml(bomb).unwrap_err().fault,
        BrokerXmlFault::Dtd
    );
}

#[test]
fn files_cut_and_changed_at_every_byte_give_settings_or_an_error() {
    for name in [
        "overrides.xml",
        "wildcards.xml",
        "prefixed.xml",
        "hornetq.xml",
    ] {
        let whole = file(name).into_bytes();
        for at in 0..whole.len() {
            let _ = read_broker_xml(&whole[..at]);
            for byte in [b'<', b'>', b'&', b'"', b'#', 0, 0xff, b'}'] {
                let mut changed = whole.clone();
                changed[at] = byte;
                if let Ok(settings) = read_broker_xml(&changed) {
                    assert!(settings.options.validate().is_ok(), "{name}, {at}, {byte}");
                }
            }
        }
    }
}
