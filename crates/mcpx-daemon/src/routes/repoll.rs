//! A future that wakes itself while it is polled is polled again at once.
//!
//! A connection of hyper does that with each body that a handler reads: body and handler are one task. Left to the
//! runtime, each such wake goes through its queue and rouses another thread, which finds nothing to do.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often in a row; then others have their turn.
const AGAIN: usize = 8;

const RESTS: u8 = 0;
const POLLED: u8 = 1;
const WOKEN: u8 = 2;

/// The future, and who wakes it.
pub(super) struct Repoll<F> {
    inner: F,
    bell: Arc<Bell>,
    waker: Waker,
}

struct Bell {
    state: AtomicU8,
    /// Who waits for the whole.
    outer: Mutex<Option<Waker>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // While it is polled, the one that polls sees it.
        if self.state.swap(WOKEN, Ordering::AcqRel) == RESTS {
            self.ring();
        }
    }
}

impl Bell {
    fn outer(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.outer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        let outer = self.outer().clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}

/// Polls `inner` again at once when it wakes itself.
pub(super) fn repoll<F: Future + Unpin>(inner: F) -> Repoll<F> {
    let bell = Arc::new(Bell {
        state: AtomicU8::new(RESTS),
        outer: Mutex::default(),
    });
    let waker = Waker::from(Arc::clone(&bell));
    Repoll { inner, bell, waker }
}

impl<F: Future + Unpin> Future for Repoll<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        {
            let mut outer = self.bell.outer();
            if !outer
                .as_ref()
                .is_some_and(|outer| outer.will_wake(context.waker()))
            {
                *outer = Some(context.waker().clone());
            }
        }
        let waker = self.waker.clone();
        let mut own = Context::from_waker(&waker);
        for _ in 0..AGAIN {
            self.bell.state.store(POLLED, Ordering::Release);
            if let Poll::Ready(output) = Pin::new(&mut self.inner).poll(&mut own) {
                return Poll::Ready(output);
            }
            let rests = self.bell.state.compare_exchange(
                POLLED,
                RESTS,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if rests.is_ok() {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls a future once, and says how often it woke whoever waits.
    fn once<F: Future + Unpin>(future: &mut F) -> (Poll<F::Output>, usize) {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
        (polled, count.0.load(Ordering::SeqCst))
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_wakes_nobody() {
        let mut left = 3;
        let mut future = repoll(poll_fn(|context| {
            if left == 0 {
                return Poll::Ready("done");
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        assert_eq!(once(&mut future), (Poll::Ready("done"), 0));
    }

    #[test]
    fn what_never_stops_waking_itself_lets_others_have_their_turn() {
        let mut polls = 0;
        let mut future = repoll(poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        assert_eq!(once(&mut future), (Poll::Pending, 1));
        assert_eq!(once(&mut future), (Poll::Pending, 1));
        drop(future);
        assert_eq!(polls, 2 * AGAIN);
    }

    #[tokio::test]
    async fn a_wake_from_elsewhere_arrives() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn(repoll(receiver));
        let waker = std::thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(waiting.await.unwrap(), Ok(7));
        waker.join().unwrap();
    }

    #[test]
    fn a_wake_between_two_polls_reaches_who_waits_now() {
        let inner = Arc::new(Mutex::new(None::<Waker>));
        let kept = Arc::clone(&inner);
        let mut future = repoll(poll_fn(move |context| {
            *kept.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
        for count in [&first, &second] {
            let waker = Waker::from(Arc::clone(count));
            assert!(
                Pin::new(&mut future)
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        let waker = inner.lock().unwrap().clone().unwrap();
        waker.wake_by_ref();
        waker.wake_by_ref();
        let counts = [&first, &second].map(|count| count.0.load(Ordering::SeqCst));
        assert_eq!(counts, [0, 1]);
    }
}
