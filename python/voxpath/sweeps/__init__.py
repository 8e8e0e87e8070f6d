"""Many runs: cells and replications, spread over a `concurrent.futures` executor. Read `runs` first."""
