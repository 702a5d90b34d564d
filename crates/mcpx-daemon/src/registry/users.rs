//! Who used an instance: what it says outside of every call is for the only one who ever did, or for nobody.
//!
//! What one caller began may be what an instance talks about after another came. So a line that came with no call is
//! somebody's only while one caller alone has used the instance, from its start on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use mcp_client::call::OnLog;
use mcp_wire::Object;
use mcpx_api::Caller;

/// Who used an instance.
#[derive(Default)]
pub struct Users {
    all: Mutex<All>,
    unheard: AtomicU64,
}

#[derive(Default)]
enum All {
    #[default]
    Nobody,
    One {
        who: String,
        hears: Option<OnLog>,
    },
    Several,
}

impl Users {
    fn all(&self) -> std::sync::MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody makes a call. `hears` is told what is said outside of calls, as long as nobody else comes.
    pub fn came(&self, who: &str, hears: Option<OnLog>) {
        let mut all = self.all();
        let before = std::mem::take(&mut *all);
        *all = match before {
            All::Nobody => All::One {
                who: who.to_owned(),
                hears,
            },
            All::One {
                who: only,
                hears: last,
            } if only == who => All::One {
                who: only,
                hears: hears.or(last),
            },
            All::One { .. } | All::Several => All::Several,
        };
    }

    /// Whether nobody has made a call yet.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        matches!(*self.all(), All::Nobody)
    }

    /// Whether nobody else has made a call yet.
    #[must_use]
    pub fn is_only(&self, who: &str) -> bool {
        matches!(&*self.all(), All::One { who: only, .. } if only == who)
    }

    /// Tells a line that came with no call to the only user; counts one that can be nobody's.
    pub fn tell(&self, params: Object) {
        let hears = match &*self.all() {
            All::One { hears, .. } => hears.clone(),
            All::Nobody | All::Several => {
                self.count_unheard();
                None
            }
        };
        if let Some(hears) = hears {
            hears(params);
        }
    }

    /// One more line that could not be told to anybody.
    pub fn count_unheard(&self) {
        self.unheard.fetch_add(1, Ordering::Relaxed);
    }

    /// How many lines could not be told to anybody, because they may have been about somebody else's call.
    #[must_use]
    pub fn unheard(&self) -> u64 {
        self.unheard.load(Ordering::Relaxed)
    }
}

/// The name of who makes a call: the session, else the process, else the call itself.
pub(super) fn name_of(caller: &Caller, trace: &str) -> String {
    match (&caller.session, caller.pid) {
        (Some(session), _) => format!("session {session}"),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => format!("call {trace}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_line_of_no_call_is_for_the_only_user_and_for_nobody_once_there_were_two() {
        let heard: Arc<Mutex<Vec<Object>>> = Arc::default();
        let hears = |heard: &Arc<Mutex<Vec<Object>>>| -> Option<OnLog> {
            let heard = Arc::clone(heard);
            Some(Arc::new(move |params| heard.lock().unwrap().push(params)))
        };
        let users = Users::default();
        let line = || Object::new().with("data", "x");
        users.tell(line());
        assert_eq!((users.unheard(), users.is_nobody()), (1, true));
        users.came("a", hears(&heard));
        users.came("a", None);
        users.tell(line());
        assert!(users.is_only("a") && !users.is_only("b"));
        users.came("b", hears(&heard));
        users.tell(line());
        users.came("a", hears(&heard));
        users.tell(line());
        assert!(!users.is_only("a") && !users.is_only("b"));
        assert_eq!((heard.lock().unwrap().len(), users.unheard()), (1, 3));
    }
}
