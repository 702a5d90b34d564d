mod caps;
mod lives;
mod queue;
mod starts;
mod stress;
