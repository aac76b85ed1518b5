"""`completion`: a script that completes commands, options and files in bash, zsh and fish.

The scripts hold fixed words from the tree of commands. What is on the command line is compared and never run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from discreet.commands.console import say_data, say_json
from discreet.commands.parsers import Commands, Parser, command
from discreet.commands.tree import Option, Place, places


def add(commands: Commands, root: Parser) -> None:
    """Add the command; it writes what `root` has."""
    parser = command(
        commands,
        "completion",
        lambda chosen: completion(chosen, root),
        about="write a script that completes commands, options and files",
        example="""source <(discreet completion bash)
        discreet completion zsh > ~/.zfunc/_discreet
        discreet completion fish > ~/.config/fish/completions/discreet.fish""",
    )
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell that reads it")


def completion(chosen: argparse.Namespace, root: Parser) -> None:
    """Write the script for a shell."""
    script = _SHELLS[chosen.shell](list(places(root)))
    if chosen.json:
        say_json({"shell": chosen.shell, "script": script})
    else:
        say_data(script)


_BASH = """# discreet: completion for bash. Read it with: source <(discreet completion bash)
_discreet_files() {
    local found
    compopt -o filenames 2>/dev/null
    while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "$1")
}
_discreet_words() {
    local word
    for word in "${@:2}"; do [[ $word == "$1"* ]] && COMPREPLY+=("$word"); done
    return 0
}
_discreet() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} place='' i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place/${COMP_WORDS[i]}" in
            @DEEPER@) place=$place/${COMP_WORDS[i]} ;;
        esac
    done
    case "$place $prev" in
@VALUES@
    esac
    case "$place $cur" in
@OPTIONS@
    esac
    case "$place" in
@WORDS@
    esac
}
complete -F _discreet discreet
"""

_ZSH = """#compdef discreet
# discreet: completion for zsh. Put it as _discreet into a folder of $fpath, or: source <(discreet completion zsh)
_discreet_words() {
    compadd -- "${@:2}"
}
_discreet() {
    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} place='' i
    for ((i = 2; i < CURRENT; i++)); do
        case "$place/${words[i]}" in
            @DEEPER@) place=$place/${words[i]} ;;
        esac
    done
    case "$place $prev" in
@VALUES@
    esac
    case "$place $cur" in
@OPTIONS@
    esac
    case "$place" in
@WORDS@
    esac
}
if [[ ${funcstack[1]} == _discreet ]]; then _discreet "$@"; else compdef _discreet discreet; fi
"""


def _bash(found: Sequence[Place]) -> str:
    return _by_cases(_BASH, found, '_discreet_files "$cur"')


def _zsh(found: Sequence[Place]) -> str:
    return _by_cases(_ZSH, found, "_files")


def _by_cases(script: str, found: Sequence[Place], files: str) -> str:
    """Fill the cases of a script in: where one is, what an option takes, which options and which words there are."""
    deeper = "|".join(_quoted(place.name) for place in found if place.words)
    values, options, words = [], [], []
    for place in found:
        for option in place.options:
            if option.takes_value:
                spelled = "|".join(_quoted(f"{place.name} {name}") for name in option.names)
                told = files if option.takes_file else _listed(option.choices)
                values.append(f"{spelled}) {told}; return 0 ;;")
        listed = _listed(name for option in place.options for name in option.names)
        options.append(f"{_quoted(f'{place.name} -')}*) {listed}; return 0 ;;")
        told = files if place.takes_file else _listed((*(name for name, _ in place.commands), *place.choices))
        words.append(f"{_quoted(place.name)}) {told} ;;")
    script = script.replace("@DEEPER@", deeper)
    for mark, lines in (("@VALUES@", values), ("@OPTIONS@", options), ("@WORDS@", words)):
        script = script.replace(mark, "\n".join(f"        {line}" for line in lines))
    return script


def _listed(words: Iterable[str]) -> str:
    told = " ".join(map(_quoted, words))
    return f'_discreet_words "$cur" {told}' if told else ":"


def _fish(found: Sequence[Place]) -> str:
    """One line for each thing: the condition, the spelling, what follows it, and what it is about."""
    lines = ["# discreet: completion for fish. Put it into ~/.config/fish/completions/discreet.fish"]
    lines.append("complete -c discreet -f")
    for place in found:
        where = _where(place)
        for name, about in place.commands:
            lines.append(f"{where} -a {_quoted(name)} -d {_quoted(about)}")
        if place.choices:
            lines.append(f"{where} -a {_quoted(' '.join(place.choices))}")
        if place.takes_file:
            lines.append(f"{where} -F")
        lines += [f"{where} {_fish_option(option)}" for option in place.options]
    return "\n".join(lines) + "\n"


def _where(place: Place) -> str:
    """Return the start of a line that holds behind these words, and before a further command."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in place.words]
    if place.commands and place.words:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(name for name, _ in place.commands)}")
    return f"complete -c discreet -n {_quoted('; and '.join(seen) or '__fish_use_subcommand')}"


def _fish_option(option: Option) -> str:
    spelled = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    follows = []
    if option.takes_value:
        follows = ["-r -F"] if option.takes_file else ["-x"]
        follows += [f"-a {_quoted(' '.join(option.choices))}"] if option.choices else []
    return " ".join([*spelled, *follows, f"-d {_quoted(option.about)}"])


def _quoted(text: str) -> str:
    """Return a text in single quotes, of which no shell reads anything; a quote in it is left out."""
    return "'" + text.replace("'", "").replace("\\", "") + "'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
