"""Mutation tests: small faults put into the package, one at a time, that the tests must see.

Where things are: `source` is a file that can be changed, `operators` finds what can be changed in
it, `choice` draws; `tree` and `nearest` say which tests concern a place; `bench` is a copy of the
tree in which one fault at a time is tried, with a `reporter` in pytest; `judge` decides, `report`
keeps what was decided.
"""
