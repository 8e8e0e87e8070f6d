"""Many runs: replications now, spread over a `concurrent.futures` executor."""
