//! The most instances over all pools, and who gives one up when another pool needs it.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Pool;

/// The most instances over all pools that share it.
pub struct Cap {
    places: Arc<Semaphore>,
    max: usize,
    pools: Mutex<Vec<Weak<Pool>>>,
    /// Pools that wait for a place.
    hungry: AtomicUsize,
}

impl Cap {
    /// At most this many instances; 0: no limit.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        let max = if max == 0 {
            Semaphore::MAX_PERMITS
        } else {
            max.min(Semaphore::MAX_PERMITS)
        };
        Arc::new(Self {
            places: Arc::new(Semaphore::new(max)),
            max,
            pools: Mutex::default(),
            hungry: AtomicUsize::new(0),
        })
    }

    /// Returns the most instances.
    #[must_use]
    pub const fn max(&self) -> usize {
        self.max
    }

    pub(super) fn join(&self, pool: &Arc<Pool>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
    }

    /// A place, when there is one and nobody waits for it.
    pub(super) fn try_take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// A place, in the order in which they were asked for.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        struct Hunger<'a>(&'a AtomicUsize);
        impl Drop for Hunger<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.hungry.fetch_add(1, Ordering::SeqCst);
        let _hunger = Hunger(&self.hungry);
        // What was unused before; what gets free later is given up by its own pool.
        self.make_room();
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Whether a pool waits for a place.
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::SeqCst) > 0
    }

    /// Makes the pool whose instance was unused for the longest time end it. None ends when all are used.
    fn make_room(&self) {
        let pools: Vec<Arc<Pool>> = {
            let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
            pools.iter().filter_map(Weak::upgrade).collect()
        };
        let longest = pools
            .iter()
            .filter_map(|pool| Some((pool.spare_since()?, pool)))
            .min_by_key(|(since, _)| *since);
        if let Some((_, pool)) = longest {
            pool.give_up_one();
        }
    }
}
