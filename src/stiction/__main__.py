"""Entry point of the command `stiction`, also of `python -m stiction`.

The commands themselves are defined in `stiction.cli.main`.
"""

from __future__ import annotations

from stiction.io.interrupts import end_at_once

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the `stiction` command."""
    # before the slow imports: Ctrl-C during them would print a traceback
    end_at_once()
    from stiction.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
