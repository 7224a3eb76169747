//! Patterns against addresses, their order, and what is inherited, as tables.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text.as_bytes(), Wildcards::default()).unwrap()
}

fn ids(count: u64) -> AddressSettings {
    AddressSettings::default().id_cache_size(count)
}

fn stored(is_on: bool) -> Persistence {
    Persistence {
        is_on,
        ends_stored_ids: false,
    }
}

fn patterns(rules: &[(SetBy, &str, AddressSettings)]) -> Patterns {
    let mut patterns = Patterns::new(Wildcards::default());
    for (set_by, text, settings) in rules {
        patterns.set(*set_by, pattern(text), *settings);
    }
    patterns
}

/// Each pattern with addresses that it matches and others that it does not.
const MATCHES: &[(&str, &[&str], &[&str])] = &[
    (
        "news",
        &["news"],
        &["", "new", "newss", "news.", ".news", "news.europe", "NEWS"],
    ),
    ("", &[""], &["a", "."]),
    ("#", &["", "a", ".", "a.b.c", "#", "*", "a b\n\0"], &[]),
    (
        "news.europe.#",
        &[
            "news.europe",
            "news.europe.sport",
            "news.europe.politics.regional",
            "news.europe..x",
        ],
        &[
            "news",
            "news.usa",
            "news.europes",
            "entertainment",
            "news.europe.",
            "x.news.europe",
        ],
    ),
    (
        "news.*",
        &["news.europe", "news.usa", "news.*", "news.#"],
        &[
            "news",
            "news.",
            "news.europe.sport",
            "news.europe.",
            "snews.europe",
            "news..x",
        ],
    ),
    (
        "news.*.sport",
        &["news.europe.sport", "news.usa.sport"],
        &[
            "news.europe.politics",
            "news.sport",
            "news..sport",
            "news.a.b.sport",
        ],
    ),
    ("*", &["a", "news", "*"], &["", ".", "a.b", "a."]),
    ("*.*", &["a.b"], &["a", "a.", ".b", "a.b.c", "."]),
    ("*.#", &["a", "a.b", "a.b.c"], &["", ".a", "a."]),
    ("a.*.#", &["a.b", "a.b.c", "a.b.c.d"], &["a", "a.", "b.b"]),
    ("*.a.#", &["x.a", "x.a.y"], &["a", "x.b", "a.x"]),
    // Without the delimiter it means the same.
    ("a#", &["a", "a.b", "a.b.c"], &["ab", "a.", ""]),
    (".#", &["", ".a", ".a.b"], &["a", ".", "a.b"]),
    ("a..#", &["a.", "a..b"], &["a", "a.b", "a.."]),
    ("a..b", &["a..b"], &["a.b", "a...b"]),
    ("a..*", &["a..b"], &["a.b", "a..", "a.b.c"]),
    // Within a word.
    ("a*", &["ab", "abc", "aa"], &["a", "ba", "ab.c", ""]),
    ("*a", &["ba", "aa", "bca"], &["a", "ab", "b.a"]),
    (
        "a*c*e",
        &["abcde", "acccce", "abcce", "aXcYe"],
        &["ace", "abce", "acde", "abcd", "abc.de"],
    ),
    ("**", &["ab", "abc"], &["", "a", "a.b"]),
    ("a*#", &["ab", "ab.c"], &["a", "a.c"]),
    ("*aab", &["aaab", "xaaab", "aabaab"], &["aab", "aaba"]),
    // A backslash before every wildcard makes a name of it all.
    ("a.\\*", &["a.\\*"], &["a.b", "a.*", "a.\\b"]),
    ("\\*.\\#", &["\\*.\\#"], &["*.#", "a", "\\a"]),
    ("\\a.*", &["\\a.b"], &["a.b"]),
    // No other character has a meaning.
    ("a+b(c[d$^?\\", &["a+b(c[d$^?\\"], &["aab(c[d$^?\\", "a"]),
    ("a$.*", &["a$.b"], &["a.b"]),
    ("sp\u{e9}cial.*", &["sp\u{e9}cial.\u{fc}"], &["special.x"]),
];

#[test]
fn patterns_match_what_the_table_says() {
    for (text, matching, others) in MATCHES {
        for address in *matching {
            assert!(
                pattern(text).matches(address.as_bytes()),
                "{text:?} and {address:?}"
            );
        }
        for address in *others {
            assert!(
                !pattern(text).matches(address.as_bytes()),
                "{text:?} and {address:?}"
            );
        }
    }
}

/// What a pattern matches, said as plainly as can be.
fn matches_plainly(pattern: &[u8], address: &[u8]) -> bool {
    match pattern {
        b"" => address.is_empty(),
        b"#" | b".#" => address.is_empty() || address.len() > 1 && address.starts_with(b"."),
        [b'*', rest @ ..] => (1..=address.len())
            .any(|end| !address[..end].contains(&b'.') && matches_plainly(rest, &address[end..])),
        [byte, rest @ ..] => address.first() == Some(byte) && matches_plainly(rest, &address[1..]),
    }
}

fn words_up_to(letters: &[u8], length: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let longer = |word: &Vec<u8>| {
            let word = word.clone();
            letters
                .iter()
                .map(move |letter| [&word[..], &[*letter]].concat())
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn all_short_patterns_match_all_short_addresses_as_they_do_plainly() {
    let addresses = words_up_to(b"ab.", 5);
    let mut compared = 0;
    for text in words_up_to(b"a.*#", 5) {
        let Ok(pattern) = Pattern::parse(&text, Wildcards::default()) else {
            continue;
        };
        for address in &addresses {
            let expected = text == b"#" || matches_plainly(&text, address);
            assert_eq!(
                pattern.matches(address),
                expected,
                "{text:?} and {address:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 100_000, "{compared}");
}

#[test]
fn any_words_stand_at_the_end_only() {
    for text in ["#.a", "a.#.b", "##", "a#b", "a.#."] {
        let parsed = Pattern::parse(text.as_bytes(), Wildcards::default());
        assert_eq!(
            parsed,
            Err("any words may stand at the end of a pattern only"),
            "{text}"
        );
    }
    let long = [b'*'; 4097];
    assert!(Pattern::parse(&long, Wildcards::default()).is_err());
    assert!(Pattern::parse(&long[1..], Wildcards::default()).is_ok());
    assert!(
        Pattern::parse(&[b'a'; 65_536], Wildcards::default()).is_ok(),
        "no wildcards"
    );
}

#[test]
fn other_characters_may_have_the_meanings() {
    let own = Wildcards::default()
        .delimiter(b'/')
        .any_words(b'>')
        .single_word(b'+');
    let table = [
        ("a/+/c", "a/b/c", true),
        ("a/+", "a/b/c", false),
        ("a/>", "a/b/c", true),
        ("a/>", "a", true),
        (">", "x.y/z", true),
        ("a.*", "a.b", false),
        ("a.*", "a.*", true),
        ("a.#", "a.#", true),
        ("+.#", "x.#", true),
    ];
    for (text, address, is_match) in table {
        let pattern = Pattern::parse(text.as_bytes(), own).unwrap();
        assert_eq!(
            pattern.matches(address.as_bytes()),
            is_match,
            "{text} and {address}"
        );
    }
    assert_eq!(own.fault(), None);
    assert!(Wildcards::default().delimiter(b'#').fault().is_some());
    assert!(Wildcards::default().single_word(b'.').fault().is_some());
    assert!(Wildcards::default().any_words(b'*').fault().is_some());
    assert!(Wildcards::default().delimiter(0xe9).fault().is_some());
    assert!(
        Wildcards::default()
            .literal_markers(b'#', b')')
            .fault()
            .is_some()
    );
}

#[test]
fn a_pattern_between_markers_is_a_name_and_comes_behind_the_bare_one() {
    let marked = Wildcards::default().literal_markers(b'(', b')');
    let mut patterns = Patterns::new(marked);
    for (text, size) in [
        ("(a.#)", 1),
        ("a.#", 2),
        ("(a.b)", 3),
        ("a.b", 4),
        ("()", 5),
    ] {
        let pattern = patterns.parse(text.as_bytes()).unwrap();
        patterns.set(SetBy::Options, pattern, ids(size));
    }
    let table = [("a.#", 1), ("a.x", 2), ("a.b", 4), ("a", 2), ("", 5)];
    for (address, size) in table {
        let found = patterns.effective(address.as_bytes()).id_cache_size;
        assert_eq!(found, Some((size, Origin::PatternByOptions)), "{address}");
    }
    assert!(
        !pattern("(a.b)").matches(b"a.b"),
        "without markers it is a name like others"
    );
}

/// Patterns that all match `a.b.c`, the one that decides first.
const ORDER: &[&str] = &[
    "a.b.c", "a.b.*", "a.*.c", "a.*.*", "*.b.c", "*.b.*", "*.*.c", "*.*.*", "a.b.c.#", "a.b.*.#",
    "a.*.c.#", "*.*.*.#", "a.b.#", "a.*.#", "*.b.#", "*.*.#", "a.#", "*.#", "a#", "#",
];

#[test]
fn the_most_specific_pattern_decides_whatever_the_order_of_setting() {
    for begin in 0..ORDER.len() {
        let mut rules: Vec<(SetBy, &str, AddressSettings)> = ORDER[begin..]
            .iter()
            .map(|text| (SetBy::Options, *text, ids(text.len() as u64 * 100)))
            .collect();
        let expected = rules[0].2.id_cache_size;
        for _ in 0..2 {
            let found = patterns(&rules).effective(b"a.b.c").id_cache_size;
            assert_eq!(found.map(|found| found.0), expected, "{}", ORDER[begin]);
            rules.reverse();
        }
    }
    for pair in ORDER.windows(2) {
        assert!(
            pattern(pair[0]).rank() < pattern(pair[1]).rank(),
            "{pair:?}"
        );
        assert!(pattern(pair[0]).matches(b"a.b.c"), "{}", pair[0]);
    }
}

#[test]
fn what_is_unset_is_inherited_from_the_next_pattern_value_by_value() {
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(86_400));
    let none = AddressSettings::default();
    let patterns = patterns(&[
        (SetBy::Options, "#", ids(1).max_age(day).persistence(true)),
        (SetBy::Options, "a.#", none.persistence(false)),
        (SetBy::Options, "a.*", none.max_age(hour)),
        (SetBy::Options, "a.b", ids(4)),
    ]);
    let by = Origin::PatternByOptions;
    let table = [
        ("a.b", 4, hour, false),
        ("a.c", 1, hour, false),
        ("a.c.d", 1, day, false),
        ("b", 1, day, true),
    ];
    for (address, size, age, is_on) in table {
        let expected = Effective {
            id_cache_size: Some((size, by)),
            max_age: Some((age, by)),
            persistence: Some((stored(is_on), by)),
        };
        assert_eq!(
            patterns.effective(address.as_bytes()),
            expected,
            "{address}"
        );
    }
}

#[test]
fn of_one_pattern_the_call_decides_and_of_two_the_more_specific() {
    let none = AddressSettings::default();
    let mut patterns = patterns(&[
        (SetBy::Options, "a.#", ids(1).persistence(false)),
        (SetBy::Call, "a.#", ids(2)),
        (SetBy::Options, "a.b", ids(3)),
        (SetBy::Call, "#", ids(4).persistence(true)),
    ]);
    let sizes = |patterns: &Patterns, address: &str| {
        let effective = patterns.effective(address.as_bytes());
        (effective.id_cache_size, effective.persistence)
    };
    let (by_call, by_options) = (Origin::PatternByCall, Origin::PatternByOptions);
    let off = Some((stored(false), by_options));
    assert_eq!(sizes(&patterns, "a.b"), (Some((3, by_options)), off));
    assert_eq!(sizes(&patterns, "a.c"), (Some((2, by_call)), off));
    assert_eq!(
        sizes(&patterns, "b"),
        (Some((4, by_call)), Some((stored(true), by_call)))
    );
    patterns.set(SetBy::Call, pattern("a.#"), none);
    assert_eq!(
        sizes(&patterns, "a.c"),
        (Some((1, by_options)), off),
        "taken away"
    );
    assert_eq!(patterns.len(), 3);
    for text in ["a.#", "a.b", "#"] {
        patterns.set(SetBy::Options, pattern(text), none);
        patterns.set(SetBy::Call, pattern(text), none);
    }
    assert!(patterns.is_empty() && patterns.exact.is_empty() && patterns.wild.is_empty());
    assert_eq!(patterns.effective(b"a.b"), Effective::default());
}

#[test]
fn names_without_wildcards_are_looked_up_and_not_walked_through() {
    let mut patterns = Patterns::new(Wildcards::default());
    for number in 0..10_000_u64 {
        let pattern = pattern(&format!("orders.{number}"));
        patterns.set(SetBy::Call, pattern, ids(number));
    }
    assert_eq!((patterns.len(), patterns.wild.len()), (10_000, 0));
    let found = patterns.effective(b"orders.77").id_cache_size;
    assert_eq!(found, Some((77, Origin::PatternByCall)));
}
