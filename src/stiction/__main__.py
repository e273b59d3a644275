"""`python -m stiction`, for where no command is on the path."""

from stiction.cli.main import main

main()
