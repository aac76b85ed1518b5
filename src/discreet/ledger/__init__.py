"""Durable memory of what was spent: a debit is on disk before a row is read."""

from discreet.ledger.ledger import Entry, Ledger
from discreet.ledger.sqlite import file_ledger, memory_ledger

__all__ = ["Entry", "Ledger", "file_ledger", "memory_ledger"]
