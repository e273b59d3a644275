"""The command `stiction` and its subcommands, such as `list`, `run`, `show` and `plot`.

`main.py` defines the subcommands and their options; each other module does the work of one of them.
"""
