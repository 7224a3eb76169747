//! Everything that a call can do to an address, in any order, while persistence goes on and off
//! by pattern, with restarts and kills in between; held against a list.

use super::steps::run;

const RUNS: u64 = 200;

#[test]
fn whatever_order_calls_come_in_an_address_turned_off_and_on_is_as_the_list_says() {
    for seed in 0..RUNS {
        run(seed);
    }
}
