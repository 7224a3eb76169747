//! Rows 13 to 21: idempotent consumers as call scripts.
//!
//! Eager is said in both ways that there are here: an add before the message is handled, removed if
//! that fails; and a reservation, confirmed or let go, which is what to prefer.

use idjournal::{Cache, Outcome, Reserve, State};

use super::support::home::{
    assert_added, assert_duplicate, confirm, everywhere, ids, plain, reserved,
};

/// When an ID is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marking {
    /// By an add, before the message is handled.
    First,
    /// By a claim, before the message is handled, and a confirmation behind that.
    Claimed,
    /// Behind that only.
    Last,
}

const EAGER: [Marking; 2] = [Marking::First, Marking::Claimed];

/// How a route uses the cache.
#[derive(Clone, Copy, Debug)]
struct Route {
    marking: Marking,
    removes_on_failure: bool,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Handled,
    Failed,
    Refused,
}

impl Route {
    fn new(marking: Marking) -> Route {
        Route {
            marking,
            removes_on_failure: true,
        }
    }

    /// Sends a message through; `handle` says whether it succeeds.
    fn send(self, cache: &Cache, id: &str, handle: impl FnOnce() -> bool) -> Became {
        let became = |is_handled| match is_handled {
            true => Became::Handled,
            false => Became::Failed,
        };
        match self.marking {
            Marking::First => {
                if cache.add(id).unwrap() != Outcome::Added {
                    return Became::Refused;
                }
                let is_handled = handle();
                if !is_handled && self.removes_on_failure {
                    assert!(cache.remove(id).wait().unwrap());
                }
                became(is_handled)
            }
            Marking::Claimed => {
                let Reserve::Reserved(claim) = cache.reserve(id).unwrap() else {
                    return Became::Refused;
                };
                let is_handled = handle();
                match is_handled || !self.removes_on_failure {
                    true => confirm(claim),
                    false => claim.release(),
                }
                became(is_handled)
            }
            Marking::Last => {
                if cache.contains(id).unwrap() {
                    return Became::Refused;
                }
                let is_handled = handle();
                if is_handled || !self.removes_on_failure {
                    assert_added(cache, id);
                }
                became(is_handled)
            }
        }
    }
}

const MESSAGES: [&str; 6] = ["1", "2", "1", "2", "1", "3"];

/// Those of the messages that were handled.
fn handled(cache: &Cache, route: Route) -> Vec<&'static str> {
    let mut handled = Vec::new();
    for id in MESSAGES {
        let became = route.send(cache, id, || true);
        if became == Became::Handled {
            handled.push(id);
        }
    }
    handled
}

#[test]
fn r13_each_message_passes_once_eager() {
    for marking in EAGER {
        everywhere(&plain(), |home| {
            let handled = handled(&home.orders(), Route::new(marking));
            assert_eq!(handled, ["1", "2", "3"], "{marking:?}");
            assert_eq!(ids(&home.orders()), ["1", "2", "3"]);
        });
    }
}

#[test]
fn r14_each_message_passes_once_not_eager() {
    everywhere(&plain(), |home| {
        let handled = handled(&home.orders(), Route::new(Marking::Last));
        assert_eq!(handled, ["1", "2", "3"]);
        assert_eq!(ids(&home.orders()), ["1", "2", "3"]);
    });
}

#[test]
fn r15_while_it_is_handled_an_id_is_there_eager() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let look = || orders.contains("1").unwrap() && assert_duplicate(&orders, "1").ordinal.0 > 0;
        let became = Route::new(Marking::First).send(&orders, "1", look);
        assert_eq!(became, Became::Handled);
        // Differs: what is only claimed is not recorded, and is told as that.
        let look = || {
            assert!(!orders.contains("2").unwrap());
            assert!(matches!(orders.state("2"), State::Pending(_)));
            matches!(orders.add("2").unwrap(), Outcome::Pending(_))
        };
        let became = Route::new(Marking::Claimed).send(&orders, "2", look);
        assert_eq!(became, Became::Handled);
        assert_duplicate(&orders, "2");
    });
}

#[test]
fn r16_while_it_is_handled_an_id_is_not_there_not_eager() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let look = || orders.state("1") == State::Absent && !orders.contains("1").unwrap();
        let became = Route::new(Marking::Last).send(&orders, "1", look);
        assert_eq!(became, Became::Handled);
        assert!(orders.contains("1").unwrap());
    });
}

#[test]
fn r17_a_failure_frees_the_id_and_its_second_copy_is_tried_again() {
    for marking in [Marking::First, Marking::Claimed, Marking::Last] {
        everywhere(&plain(), |home| {
            let (orders, route) = (home.orders(), Route::new(marking));
            let became = MESSAGES.map(|id| route.send(&orders, id, || id != "1"));
            use Became::{Failed, Handled, Refused};
            let right = [Failed, Handled, Failed, Refused, Failed, Handled];
            assert_eq!(became, right, "{marking:?}");
            assert_eq!(ids(&orders), ["2", "3"]);
        });
    }
}

#[test]
fn r18_a_failure_that_a_dead_letter_takes_care_of_frees_the_id_too() {
    for marking in EAGER {
        everywhere(&plain(), |home| {
            let (orders, dead) = (home.orders(), home.cache("dead"));
            let route = Route::new(marking);
            for id in ["1", "2", "1"] {
                // The error goes no further than here; the message is kept elsewhere.
                let became = route.send(&orders, id, || {
                    let _ = dead.add(id).unwrap();
                    false
                });
                assert_eq!(became, Became::Failed, "{marking:?}");
            }
            assert!(orders.is_empty());
            assert_eq!(ids(&dead), ["1", "2"]);
        });
    }
}

#[test]
fn r19_where_failures_do_not_remove_the_id_stays() {
    for marking in [Marking::First, Marking::Claimed, Marking::Last] {
        everywhere(&plain(), |home| {
            let route = Route {
                marking,
                removes_on_failure: false,
            };
            let orders = home.orders();
            assert_eq!(route.send(&orders, "1", || false), Became::Failed);
            assert_duplicate(&orders, "1");
            assert_eq!(route.send(&orders, "1", || true), Became::Refused);
        });
    }
}

#[test]
fn r20_where_duplicates_pass_they_are_told_as_such() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        let flags = MESSAGES.map(|id| matches!(orders.add(id).unwrap(), Outcome::Duplicate(_)));
        assert_eq!(flags, [false, false, true, true, true, false]);
    });
}

#[test]
fn r21_what_was_confirmed_before_a_failure_stays_and_what_was_not_is_free() {
    everywhere(&plain(), |home| {
        let orders = home.orders();
        // The end of the block confirms; then the rest of the route fails.
        confirm(reserved(&orders, "block"));
        // The end of the route would confirm; the route fails before.
        let claim = reserved(&orders, "route");
        assert!(matches!(orders.state("route"), State::Pending(_)));
        drop(claim);
        assert_duplicate(&orders, "block");
        assert_added(&orders, "route");
    });
}
