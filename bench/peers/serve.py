"""What all peers do: read requests from whoever asks, a line of JSON each, and answer each with a line."""

import importlib.metadata
import json
import platform
import sys


def serve(*tasks, packages):
    """Run the task that each request names with its other fields; `versions` says which packages run here."""

    def versions():
        found = {name: importlib.metadata.version(name) for name in packages}
        return {"python": platform.python_version(), **found}

    named = {task.__name__: task for task in (*tasks, versions)}
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(named[request.pop("task")](**request)) + "\n")
        sys.stdout.flush()
