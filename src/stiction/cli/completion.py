"""Shell completion: a script for bash, zsh or fish with all commands, options and names.

The words stand in the script itself, so that completing starts no Python. What a value may be is
read from its metavar: alternatives such as png|pdf|svg, DIR for folders, NAME for what can be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from stiction.errors import ModelError, nearest

__all__ = ["script"]

_FILES, _FOLDERS, _NOTHING = "<files>", "<folders>", ""


@dataclass(frozen=True)
class _Option:
    """An option: its names, what it is for, and what may follow it (None: nothing does)."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


def script(root: Any, shell: str) -> str:
    """Return the completion script of the commands below `root` for a shell.

    Raises
    ------
    ModelError : for a shell that has none.

    Verified by: tests/scenarios/test_completion.py::test_bash_completes
    """
    made: dict[str, Callable[[Any], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    if shell not in made:
        why = "the script is written in the language of the shell."
        needs = "one of " + ", ".join(made)
        raise ModelError("completion", repr(shell), needs, why, nearest(shell, made))
    return made[shell](root)


def _commands(root: Any) -> Iterator[tuple[str, str, list[_Option], list[tuple[str, ...]], bool]]:
    """Give name, help, options, the values of each argument, and whether the last one repeats."""
    for name, command in root.commands.items():
        options = [_Option(("--help",), "Show this message and exit.", None)]
        places, repeats = [], False
        for one in command.params:
            if one.param_type_name == "argument":
                places.append(_values(one.metavar or "", name))
                repeats = one.nargs == -1
            elif one.opts != ["--help"]:
                values = None if one.is_flag else _values(one.metavar or "", name)
                options.append(_Option(tuple(one.opts), one.help or "", values))
        text = (command.help or "").strip().partition("\n")[0]
        yield name, text, options, places, repeats


def _values(metavar: str, command: str) -> tuple[str, ...]:
    """Return what a value may be, as its metavar says."""
    word = metavar.strip("[].").partition("]")[0]
    if "|" in word:
        return tuple(word.split("|"))
    if word == "fmu":
        return (word,)
    if word == "DIR":
        return (_FOLDERS,)
    if word == "PAPER":
        from stiction.papers.making import PAPERS

        return (*PAPERS, "all")
    if word == "SYSTEM":
        from stiction.numerics.compiling.folders import systems

        return (*systems(), *(("studies",) if command == "list" else ()))
    if word.startswith("NAME-or-FILE"):
        from stiction.io.scenario.built_in import built_in
        from stiction.studies.listing import ready

        return (*(ready() if command == "sweep" else built_in()), _FILES)
    return (_NOTHING,)


def _plain(values: tuple[str, ...]) -> str:
    return " ".join(value for value in values if not value.startswith("<"))


# ---- bash


def _bash(root: Any) -> str:
    cases = []
    for name, _, options, places, repeats in _commands(root):
        words = " ".join(word for option in options for word in option.names)
        after = [
            f"            {'|'.join(o.names)}) _stiction_values {_bash_kind(o.values)}; return ;;"
            for o in options
            if o.values is not None
        ]
        kinds = [_bash_kind(values) for values in places]
        which = [f"            {k}) _stiction_values {kind} ;;" for k, kind in enumerate(kinds)]
        if repeats:
            which[-1] = f"            *) _stiction_values {kinds[-1]} ;;"
        takes = "|".join(w for o in options if o.values is not None for w in o.names) or "''"
        block = [f"    {name})", '        case "$previous" in', *after, "        esac"]
        block += [f'        [[ $current == -* ]] && {{ _stiction_values "{words}"; return; }}']
        block += [f'        _stiction_place "{takes}"', '        case "$place" in', *which]
        cases.append("\n".join([*block, "        esac ;;"]))
    names = " ".join(root.commands)
    return _BASH.replace("@NAMES@", f"{names} --help --version").replace(
        "@CASES@", "\n".join(cases)
    )


def _bash_kind(values: tuple[str, ...]) -> str:
    kind = "files" if _FILES in values else "folders" if _FOLDERS in values else "words"
    return f'"{_plain(values)}" {kind}'


_BASH = """\
# bash completion of stiction; load it with: eval "$(stiction completion bash)"
_stiction_values() {
    local IFS=$' \\t\\n'
    COMPREPLY=( $(compgen -W "$1" -- "$current") )
    local IFS=$'\\n'
    case "$2" in
    folders) compopt -o filenames; COMPREPLY+=( $(compgen -d -- "$current") ) ;;
    files) compopt -o filenames
        COMPREPLY+=( $(compgen -f -X '!*.toml' -- "$current") $(compgen -d -- "$current") ) ;;
    esac
}
_stiction_place() {
    local k; place=0
    for (( k = 2; k < COMP_CWORD; k++ )); do
        case "|$1|" in
        *"|${COMP_WORDS[k]}|"*) (( k++ )) ;;
        *) [[ ${COMP_WORDS[k]} == -* ]] || (( place++ )) ;;
        esac
    done
}
_stiction() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} place
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then _stiction_values "@NAMES@"; return; fi
    case "${COMP_WORDS[1]}" in
@CASES@
    esac
}
complete -F _stiction stiction"""


# ---- zsh


def _zsh(root: Any) -> str:
    listed, cases = [], []
    for name, text, options, places, repeats in _commands(root):
        listed.append(f"        {_quoted(f'{name}:{text}')}")
        lines = []
        for option in options:
            about = option.help.replace("[", "(").replace("]", ")").replace(":", " -")
            value = "" if option.values is None else f":value:{_zsh_kind(option.values)}"
            lines += [_quoted(f"*{word}[{about}]{value}") for word in option.names]
        for k, values in enumerate(places):
            number = "*" if repeats and k == len(places) - 1 else str(k + 1)
            lines.append(_quoted(f"{number}:value:{_zsh_kind(values)}"))
        body = " \\\n            ".join(lines)
        cases.append(f"    {name})\n        _arguments \\\n            {body} ;;")
    found = _ZSH.replace("@NAMES@", "\n".join(listed))
    return found.replace("@CASES@", "\n".join(cases))


def _zsh_kind(values: tuple[str, ...]) -> str:
    words = _plain(values)
    if _FILES in values:
        # the blank keeps _arguments from putting options of its own before the words
        return f" _stiction_names {words}"
    if _FOLDERS in values:
        return "_files -/"
    return f"({words})" if words else " "


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_ZSH = """\
#compdef stiction
# zsh completion of stiction; load it with: eval "$(stiction completion zsh)", after compinit
_stiction_names() {
    local -a names=("$@")
    compadd -a names
    _files -g "*.toml"
}
_stiction() {
    local -a commands
    commands=(
@NAMES@
    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        return
    fi
    local command=${words[2]}
    shift words
    (( CURRENT-- ))
    case "$command" in
@CASES@
    esac
}
compdef _stiction stiction"""


# ---- fish


def _fish(root: Any) -> str:
    lines = ["# fish completion of stiction; load it with: stiction completion fish | source"]
    lines.append("complete -c stiction -f")
    for name, text, options, places, _ in _commands(root):
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        about = _fish_quoted(text)
        lines.append(f"complete -c stiction -n __fish_use_subcommand -a {name} -d {about}")
        for option in options:
            words = " ".join(
                f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in option.names
            )
            value = "" if option.values is None else f" -r {_fish_kind(option.values)}"
            about = _fish_quoted(option.help)
            lines.append(f"complete -c stiction {seen} {words} -d {about}{value}".rstrip())
        kinds = filter(None, map(_fish_kind, dict.fromkeys(places)))
        lines.extend(f"complete -c stiction {seen} {kind}" for kind in kinds)
    return "\n".join(lines)


def _fish_kind(values: tuple[str, ...]) -> str:
    words = _plain(values)
    if _FILES in values:
        words += " (__fish_complete_suffix .toml)"
    elif _FOLDERS in values:
        words = "(__fish_complete_directories)"
    return f"-a {_fish_quoted(words)}" if words else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
