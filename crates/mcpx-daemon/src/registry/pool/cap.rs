//! The most instances over all pools, and who gives one up when another pool needs it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Pool;

#[derive(Debug, Clone, Copy)]
struct Sizes {
    max: usize,
    /// Places that are out although there are fewer now: they do not come back.
    too_many: usize,
}

/// A place among all pools' instances. Given back when it is dropped.
pub(super) struct CapPlace {
    cap: Arc<Cap>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for CapPlace {
    fn drop(&mut self) {
        let mut sizes = self.cap.sizes();
        if sizes.too_many > 0 {
            sizes.too_many -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

/// The most instances over all pools that share it.
pub struct Cap {
    places: Arc<Semaphore>,
    sizes: Mutex<Sizes>,
    pools: Mutex<Vec<Weak<Pool>>>,
    /// Pools that wait for a place.
    hungry: AtomicUsize,
}

impl Cap {
    /// At most this many instances; 0: no limit.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        let max = places_for(max);
        Arc::new(Self {
            places: Arc::new(Semaphore::new(max)),
            sizes: Mutex::new(Sizes { max, too_many: 0 }),
            pools: Mutex::default(),
            hungry: AtomicUsize::new(0),
        })
    }

    /// Returns the most instances.
    #[must_use]
    pub fn max(&self) -> usize {
        self.sizes().max
    }

    /// From now on at most this many instances; 0: no limit. Nothing that runs is ended: those that are too many are not
    /// replaced when they end.
    pub fn resize(&self, max: usize) {
        let max = places_for(max);
        let mut sizes = self.sizes();
        let Some(fewer) = sizes.max.checked_sub(max) else {
            let more = max - sizes.max;
            let paid = more.min(sizes.too_many);
            sizes.too_many -= paid;
            sizes.max = max;
            self.places.add_permits(more - paid);
            return;
        };
        sizes.too_many += fewer - self.places.forget_permits(fewer);
        sizes.max = max;
    }

    fn sizes(&self) -> MutexGuard<'_, Sizes> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(&self, pool: &Arc<Pool>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(pool));
    }

    /// A place, when there is one and nobody waits for it.
    pub(super) fn try_take(self: &Arc<Self>) -> Option<CapPlace> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(self.place(permit))
    }

    fn place(self: &Arc<Self>, permit: OwnedSemaphorePermit) -> CapPlace {
        CapPlace {
            cap: Arc::clone(self),
            permit: Some(permit),
        }
    }

    /// A place, in the order in which they were asked for.
    pub(super) async fn take(self: &Arc<Self>) -> Option<CapPlace> {
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
        let permit = Arc::clone(&self.places).acquire_owned().await.ok()?;
        Some(self.place(permit))
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

/// How many places the setting means.
fn places_for(max: usize) -> usize {
    match max {
        0 => Semaphore::MAX_PERMITS,
        max => max.min(Semaphore::MAX_PERMITS),
    }
}
