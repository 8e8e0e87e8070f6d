"""Backends: ways to answer a plan, behind one interface. Read `base` first."""
