//! What is wrong is told with its place and what would be right.

use idjournal::artemis::{BrokerXmlFault, read_broker_xml};

use super::file;

fn told(text: &str) -> String {
    read_broker_xml(text).expect_err(text).to_string()
}

#[test]
fn the_sample_that_closes_another_element_than_it_opened_is_told_with_line_and_column() {
    let error = read_broker_xml(file("manual.xml")).unwrap_err();
    assert_eq!((error.line, error.column), (4, 30), "{error}");
    let said = "line 4, column 30: not well-formed: persist-id-cache is closed by id-cache-size";
    assert_eq!(error.to_string(), said);
}

/// What stands in `core` from the second line on, and what is said of it.
const VALUES: &[(&str, &str)] = &[
    (
        "<id-cache-size>many</id-cache-size>",
        "2, column 1: id-cache-size is \"many\", not a number from 0 to 2147483648",
    ),
    (
        "<id-cache-size>-1</id-cache-size>",
        "2, column 1: id-cache-size is \"-1\", not a number",
    ),
    (
        "<id-cache-size/>",
        "2, column 1: id-cache-size is \"\", not a number from 0",
    ),
    (
        "<id-cache-size>2147483649</id-cache-size>",
        "is \"2147483649\", not a number from 0 to",
    ),
    (
        "<id-cache-size>1e3</id-cache-size>",
        "is \"1e3\", not a number",
    ),
    (
        "<id-cache-size>1</id-cache-size>\n  <id-cache-size>2</id-cache-size>",
        "3, column 3: id-cache-size is given twice",
    ),
    (
        "<persist-id-cache>yes</persist-id-cache>",
        "2, column 1: persist-id-cache is \"yes\", not true or false",
    ),
    (
        "<journal-datasync>1</journal-datasync>",
        "journal-datasync is \"1\", not true or false",
    ),
    (
        "<journal-file-size>10T</journal-file-size>",
        "journal-file-size is \"10T\", not a number of bytes such as 10485760, or of KiB, MiB or \
         GiB such as \"64MiB\", from 1 to 536870912",
    ),
    (
        "<journal-file-size>0</journal-file-size>",
        "journal-file-size is \"0\", not a number",
    ),
    (
        "<journal-file-size>1G</journal-file-size>",
        "journal-file-size is \"1G\", not a number",
    ),
    (
        "<wildcard-addresses>\n<delimiter>::</delimiter></wildcard-addresses>",
        "3, column 1: delimiter is \"::\", not one ASCII character",
    ),
    (
        "<wildcard-addresses><delimiter>\u{e9}</delimiter></wildcard-addresses>",
        "delimiter is \"\\u{e9}\", not one ASCII character",
    ),
    (
        "<wildcard-addresses><delimiter>*</delimiter></wildcard-addresses>",
        "2, column 1: the wildcards: they must differ from each other",
    ),
    (
        "<wildcard-addresses><delimiter>/</delimiter>\n<delimiter>.</delimiter>\
         </wildcard-addresses>",
        "3, column 1: delimiter is given twice",
    ),
    (
        "<literal-match-markers>(</literal-match-markers>",
        "2, column 1: literal-match-markers is \"(\", not two ASCII characters, such as ()",
    ),
    (
        "<literal-match-markers>#)</literal-match-markers>",
        "2, column 1: the wildcards: the markers of literal patterns must differ from the others",
    ),
    (
        "<address-settings>\n <address-setting/></address-settings>",
        "3, column 2: address-setting has no match",
    ),
    (
        "<address-settings>\n <address-setting match='a.#.b'/></address-settings>",
        "3, column 2: the match \"a.#.b\": any words may stand at the end of a pattern only",
    ),
    (
        "<address-settings>\n <address-setting match='#'>\n  <id-cache-size>x</id-cache-size>\
         </address-setting></address-settings>",
        "4, column 3: id-cache-size is \"x\", not a number",
    ),
    (
        "<address-settings><address-setting match='#'><id-cache-size>1</id-cache-size>\
         \n<id-cache-size>1</id-cache-size></address-setting></address-settings>",
        "3, column 1: id-cache-size is given twice",
    ),
    (
        "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='more.xml'/>",
        "2, column 1: an include is not followed; put here what it includes",
    ),
    (
        "<address-settings><xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='a'/>\
         </address-settings>",
        "2, column 19: an include is not followed",
    ),
];

#[test]
fn a_wrong_value_is_told_with_its_element_and_what_would_be_right() {
    for (line, said) in VALUES {
        let told = told(&format!("<core>\n{line}\n</core>"));
        assert!(told.starts_with("line "), "{told}");
        assert!(told.contains(said), "{line}: {told}");
    }
}

#[test]
fn text_that_is_not_well_formed_is_told_with_its_place() {
    for (text, said) in [
        ("", "line 1, column 1: not well-formed: there is no element"),
        (
            "<core>\n <a>",
            "line 2, column 5: not well-formed: an element is not closed",
        ),
        ("<core>\n <a", "line 2, column 4: not well-formed: "),
        (
            "<core>\n<a b='1' b='2'/></core>",
            "line 2, column 10: not well-formed: attribute 'b'",
        ),
        ("<core>&nbsp;</core>", "line 1, column 7: not well-formed: "),
        (
            "<core>\n</core><core/>",
            "line 2, column 8: not well-formed: ",
        ),
        (
            "<core>\n<c:a/></core>",
            "line 2, column 2: not well-formed: an unknown namespace",
        ),
        ("<core>\u{1}</core>", "line 1, column 7: not well-formed: "),
        (
            "<server/>",
            "line 1, column 1: the root is server, neither configuration nor core",
        ),
        (
            "<core xmlns='urn:example'/>",
            "line 1, column 1: the root is core, neither configuration nor core",
        ),
        (
            "<configuration>\n<core xmlns='urn:activemq:cor'/></configuration>",
            "line 2, column 1: core is of the namespace urn:activemq:cor, which is none of Artemis",
        ),
        (
            "<?xml version='1.0'?>\n<!DOCTYPE core [<!ENTITY a 'b'>]><core/>",
            "line 2, column 1: a DTD is not read",
        ),
    ] {
        let told = told(text);
        assert!(told.starts_with(said), "{text:?}: {told}");
    }
    let error = read_broker_xml(b"<core>\n\xff</core>").unwrap_err();
    assert_eq!((error.line, error.column), (2, 1));
    assert_eq!(error.fault, BrokerXmlFault::NotUtf8);
}

#[test]
fn nothing_of_the_file_reaches_a_terminal_as_it_is() {
    let long = "9".repeat(5_000);
    let text = format!("<core><id-cache-size>\u{9b}2J\u{202e}{long}</id-cache-size></core>");
    let told = told(&text);
    assert!(
        told.contains("\\u{9b}2J\\u{202e}999") && told.contains("9...\""),
        "{told}"
    );
    assert!(told.is_ascii() && told.len() < 400, "{told}");
}
