"""Durable memory of what was spent: a debit is on disk before a row is read."""

from discreet.ledger.ledger import Ledger
from discreet.ledger.open import ledger_at, memory_ledger
from discreet.ledger.rows import Entry

__all__ = ["Entry", "Ledger", "ledger_at", "memory_ledger"]
