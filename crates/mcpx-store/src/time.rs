//! A time in a JSON file: RFC 3339 in UTC, such as `2026-09-21T14:13:20Z`.

use jiff::Timestamp;
use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(time)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| {
        let text: String = text.escape_debug().to_string().chars().take(60).collect();
        D::Error::custom(format!(
            "`{text}` is no time, expected one such as `2026-09-21T14:13:20Z`"
        ))
    })
}

/// A time that may be missing, where the field also has `default`.
pub(crate) mod option {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Time(#[serde(with = "super")] Timestamp);

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.as_ref().map(ToString::to_string).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<Time>::deserialize(from)?.map(|time| time.0))
    }
}
