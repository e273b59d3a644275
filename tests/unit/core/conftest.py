"""The run written by hand that these tests share."""

from written_run import make_run, run, without_digests

__all__ = ["make_run", "run", "without_digests"]
