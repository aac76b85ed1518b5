"""Processes that spend from a ledger under load, and what an observer outside saw of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

PROGRAM = textwrap.dedent(
    """
    import os, sys, threading
    from discreet import dp
    from discreet.errors import BudgetExceeded
    from discreet.ledger import Ledger, anchor, chain, ledger, ledger_at
    from tests.broken import ledgers

    address, kind, name, each, threads, budget, step = sys.argv[1:8]
    loss, seen = dp.Loss.pure(epsilon="1/40"), threading.Lock()
    if step:
        def stop(reached):
            if reached == step:
                os._exit(9)
        for module in (anchor, ledger, ledgers):
            module.reached = stop
    opened = getattr(ledgers, kind)(ledger_at(address)._store) if kind != "Ledger" else ledger_at(address)
    opened.bind(dataset="t", budget=dp.Budget(epsilon=budget))
    print("ready", flush=True)
    sys.stdin.readline()

    def show(key):
        with seen:
            sys.stdout.write(key + "\\n")
            sys.stdout.flush()

    def client(number):
        for i in range(int(each)):
            key = f"{name}-{number}-{i}"
            try:
                opened.spend(loss, key, show) if kind != "Ledger" else spend(key)
            except BudgetExceeded:
                continue

    def spend(key):
        opened.reserve(loss, key=key, question="q", analyst="curator")
        show(opened.record(key, key.encode()).decode())

    clients = [threading.Thread(target=client, args=(number,)) for number in range(int(threads))]
    for each_client in clients:
        each_client.start()
    for each_client in clients:
        each_client.join()
    """
)


@dataclass(frozen=True, slots=True)
class Spenders:
    """What to start: `threads` clients in each of some processes, each of `each` attempts to spend a fortieth."""

    address: str
    kind: str = "Ledger"
    each: int = 1000
    threads: int = 1
    budget: str = "1"
    step: str = ""

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start one process; it waits for `go`."""
        options = (self.address, self.kind, name, str(self.each), str(self.threads), self.budget, self.step)
        command = [sys.executable, "-c", PROGRAM, *options]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process


def go(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Let all of them begin at once."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def whole_lines(process: subprocess.Popen[str]) -> list[str]:
    """Wait for the end of a process that was killed; return the answers that it showed whole."""
    return [
        line.rstrip("\n") for line in process.communicate(timeout=300)[0].splitlines(keepends=True) if line[-1] == "\n"
    ]


def seen(process: subprocess.Popen[str]) -> list[str]:
    """Wait for the end of a process; return the answers that it showed."""
    return process.communicate(timeout=300)[0].split()
