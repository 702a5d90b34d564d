//! Sessions named by the start of their id, as people type them.

use cox_protocol::SessionId;
use cox_store::Home;

use crate::exit::Failure;

/// Fewest characters that name a session: less is more likely a slip than a name.
const FEWEST: usize = 4;

/// Returns the one session whose id is this or begins so.
///
/// # Errors
///
/// A usage failure for text that is no id, or that several sessions begin with; an error when there is no such session.
pub(crate) fn session(text: &str, home: &Home) -> Result<SessionId, Failure> {
    let not_an_id = match text.parse() {
        Ok(id) => return Ok(id),
        Err(error) => Failure::usage(format!("{error}")),
    };
    let start = text.to_ascii_uppercase();
    if start.len() < FEWEST || !start.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(not_an_id);
    }
    let ids = cox_store::list_ids(home)?;
    let fitting: Vec<SessionId> = ids
        .into_iter()
        .filter(|id| id.to_string().starts_with(&start))
        .collect();
    match fitting.as_slice() {
        [only] => Ok(*only),
        [] if start.len() > 26 => Err(not_an_id),
        [] => Err(Failure::error(format!(
            "no session begins with {start}\nhint: `cox sessions` lists them"
        ))),
        [first, second, ..] => Err(Failure::usage(format!(
            "{} sessions begin with {start}, such as {first} and {second}\nhint: give more of the id",
            fitting.len()
        ))),
    }
}
