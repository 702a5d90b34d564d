//! What is known about models: context windows and prices, with the date they were checked.
//!
//! The table is compiled in and parsed when it is first asked. A model that is not in it has no price, which callers must
//! show as unknown, not as free.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::Usage;

/// Price of a model, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Input at full price.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    verified_on: String,
    model: Vec<Row>,
}

/// One model; prices in dollars per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    name: String,
    context_window: u64,
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl Row {
    fn price(&self) -> Price {
        // Prices have at most six decimals, so rounding only undoes the binary fraction.
        let micros = |dollars: f64| (dollars * 1e6).round() as u64;
        Price {
            input: micros(self.input),
            output: micros(self.output),
            cache_read: micros(self.cache_read),
            cache_write: micros(self.cache_write),
        }
    }
}

/// Returns the price of a model at a provider.
///
/// A provider that the table does not know is a resale or a proxy: the maker's price is the best guess there, and a budget
/// needs one.
pub fn price_of(provider: &str, model: &str) -> Option<Price> {
    let rows = rows_of(model);
    let own = rows.iter().find(|row| row.provider == provider);
    own.or_else(|| rows.first()).map(|row| row.price())
}

/// Returns a model's context window in tokens.
pub fn context_window_of(model: &str) -> Option<u64> {
    rows_of(model).first().map(|row| row.context_window)
}

/// Returns the day the table was checked, as `2026-01-31`.
pub fn verified_on() -> &'static str {
    &table().verified_on
}

/// Returns what an answer cost, in millionths of a US dollar, rounded up.
pub fn cost(usage: &Usage, price: &Price) -> u64 {
    let parts = [
        (usage.input, price.input),
        (usage.output, price.output),
        (usage.cache_read, price.cache_read),
        (usage.cache_write, price.cache_write),
    ];
    let sum: u128 = parts
        .iter()
        .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
        .sum();
    u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns the rows of a model, best match first.
fn rows_of(model: &str) -> Vec<&'static Row> {
    let model = model.rsplit('/').next().unwrap_or(model);
    let mut rows: Vec<_> = table()
        .model
        .iter()
        .filter(|row| is_version(model, &row.name))
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.name.len()));
    rows
}

/// Says whether `model` is `name` or a dated version of it. `claude-sonnet-5-1` is no version of `claude-sonnet-5`: it
/// may cost something else.
fn is_version(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let date = rest.strip_prefix(['-', '@']).unwrap_or_default();
    rest.is_empty()
        || rest == "-latest"
        || (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        toml::from_str(include_str!("prices.toml")).expect("the table compiled in is tested")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_name_has_the_price_of_its_model() {
        #[track_caller]
        fn check(provider: &str, model: &str, input: Option<u64>) {
            assert_eq!(
                price_of(provider, model).map(|price| price.input),
                input,
                "{model}"
            );
        }
        check("anthropic", "claude-sonnet-5", Some(2_000_000));
        check("anthropic", "claude-sonnet-5-20260630", Some(2_000_000));
        check("anthropic", "claude-sonnet-5-latest", Some(2_000_000));
        check("work", "anthropic/claude-haiku-4-5", Some(1_000_000));
        check("anthropic", "claude-fable-5-1", Some(10_000_000));
        check("anthropic", "claude-sonnet-5-1", None);
        check("anthropic", "claude-sonnet-50", None);
        check("local", "qwen3", None);
    }

    #[test]
    fn every_row_is_whole_and_the_table_is_dated() {
        let fable = Price {
            input: 10_000_000,
            output: 50_000_000,
            cache_read: 250_000,
            cache_write: 12_500_000,
        };
        assert_eq!(price_of("anthropic", "claude-fable-5-1"), Some(fable));
        assert_eq!(context_window_of("claude-haiku-4-5"), Some(200_000));
        assert_eq!(context_window_of("unknown"), None);
        assert_eq!(verified_on().len(), 10);
        for row in &table().model {
            assert!(
                row.cache_read < row.input && row.input < row.output,
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn costs_are_rounded_up_and_cannot_overflow() {
        let price = Price {
            input: 2_000_000,
            output: 10_000_000,
            cache_read: 200_000,
            cache_write: 2_500_000,
        };
        let usage = Usage {
            input: 1_000,
            output: 100,
            cache_read: 10_000,
            cache_write: 3,
        };
        assert_eq!(cost(&usage, &price), 2_000 + 1_000 + 2_000 + 8);
        assert_eq!(cost(&Usage::default(), &price), 0);
        assert_eq!(
            cost(
                &Usage {
                    cache_read: 1,
                    ..Usage::default()
                },
                &price
            ),
            1
        );
        let most = Usage {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: 0,
            cache_write: 0,
        };
        assert_eq!(cost(&most, &price), u64::MAX);
    }
}
