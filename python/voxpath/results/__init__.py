"""Results: run folders, frames, intervals and the metric dictionary."""
