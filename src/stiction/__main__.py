"""The command `stiction`, also as `python -m stiction`."""

from __future__ import annotations

from stiction.io.interrupts import end_at_once

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the `stiction` command."""
    # before most of what is imported
    end_at_once()
    from stiction.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
