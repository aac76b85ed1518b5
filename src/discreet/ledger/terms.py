"""What is agreed on in a ledger: whose it is, its budget, and who may spend how much of it; as texts and back."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import cast

from discreet.dp import Budget
from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.rows import GRANT, RAISE, REVOKE, Row, Rows

_LONGEST = 200


def opening(dataset: str, budget: Budget) -> str:
    """Return the body of the first row."""
    return json.dumps({"dataset": dataset, "budget": _written(budget)}, sort_keys=True)


def raising(budget: Budget, reason: str) -> str:
    """Return the body of a row that raises the budget."""
    return json.dumps({"budget": _written(budget), "reason": reason}, sort_keys=True)


def granting(whole: Budget, analyst: str, budget: Budget) -> str:
    """Return the body of a row that grants a budget, or refuse one that could never be spent here."""
    check_name(analyst)
    if not isinstance(budget, Budget):
        raise InvalidParameter(f"a grant is a dc.Budget, for instance dc.Budget(epsilon=0.3), not {budget!r:.60}.")
    if (budget.rho is None) != (whole.rho is None) or budget.is_pure != whole.is_pure:
        raise InvalidParameter(
            f"a grant is of the same kind as the budget of the dataset, dc.{whole}; got dc.{budget}."
        )
    return json.dumps({"budget": _written(budget)}, sort_keys=True)


def in_force(rows: Rows, first: Row, dataset: str, budget: Budget | None) -> Budget:
    """Return the budget on record, after a check that this is the ledger, and the budget, that was meant."""
    owner, recorded = on_record(rows, first)
    if owner != dataset:
        raise LedgerError(f"this ledger is that of {owner!r}, not of {dataset!r}; give each dataset its own file.")
    if budget is not None and _written(budget) not in (_written(recorded), _promised(recorded)):
        raise LedgerError(
            f"this ledger has the budget dc.{recorded}, not dc.{budget}; leave budget= out, or write the one on record."
        )
    return recorded


def on_record(rows: Rows, first: Row) -> tuple[str, Budget]:
    """Return whose ledger this is, and the budget in force."""
    owner = _read(first).get("dataset")
    if not isinstance(owner, str):
        raise _damaged(first)
    last = rows.last(RAISE)
    return owner, _budget(first if last is None else last)


def grant_of(rows: Rows, analyst: str) -> Budget | None:
    """Return the budget that an analyst was granted last, unless it was revoked."""
    granted, revoked = rows.last(GRANT, analyst), rows.last(REVOKE, analyst)
    if granted is None or (revoked is not None and revoked.number > granted.number):
        return None
    return _budget(granted)


def check_name(analyst: str) -> None:
    """Refuse what is not a short name."""
    if not isinstance(analyst, str) or not analyst.isprintable() or not 0 < len(analyst) <= _LONGEST:
        raise InvalidParameter(f'analyst is a short name such as "ana", not {analyst!r:.60}.')


def check_reason(reason: str) -> None:
    """Refuse a reason that says nothing."""
    if not isinstance(reason, str) or not reason.strip() or not reason.isprintable():
        raise InvalidParameter('this goes on record: give a reason, reason="what happened".')


def _written(budget: Budget) -> dict[str, str]:
    written = _promised(budget)
    if budget.kept_order is not None:
        written["order"] = str(budget.kept_order)
    return written


def _promised(budget: Budget) -> dict[str, str]:
    if budget.epsilon is None:
        return {"rho": str(budget.rho)}
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta), "delta_add": str(budget.delta_add)}


def _budget(row: Row) -> Budget:
    with suppress(ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError):
        return Budget(**{name: Fraction(value) for name, value in cast(dict[str, str], _read(row)["budget"]).items()})
    raise _damaged(row)


def _read(row: Row) -> dict[str, object]:
    with suppress(ValueError, RecursionError):
        body = json.loads(row.body)
        if isinstance(body, dict):
            return body
    raise _damaged(row)


def _damaged(row: Row) -> LedgerError:
    return LedgerError(f"row {row.number} of the ledger, {row.kind!r}, says nothing that can be read; it was damaged.")
