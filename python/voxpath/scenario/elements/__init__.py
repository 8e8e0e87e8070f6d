"""The parts of a link as a scenario writes them: rates, queues, losses, delays.

The simplest of each is a text; the others are tables with a `kind`. A table knows its part of the plan
(`planned`), the contract of which is `Direction` in `crates/net/src/link/direction.rs`.
"""
