"""What discreet says when it says no.

Every message states what was asked, what is allowed, and what to write instead, in public quantities only:
no text here may depend on a row.
"""


class Refused(ValueError):
    """The request was not carried out, and nothing was spent, but for a first look if the message says so."""


class InvalidParameter(Refused):
    """A parameter is out of its range, of the wrong kind, or missing."""


class NotSupported(Refused):
    """The request is understood and lies outside what discreet does."""


class NeedsDeclaration(Refused):
    """A public fact has to be declared first; the message names the line to add."""


class BudgetExceeded(Refused):
    """The price is above what remains of the budget."""


class LedgerError(Refused):
    """The ledger cannot be trusted, or does not fit what was asked of it."""


class Unavailable(Exception):
    """The source cannot be reached. Free of charge, and the same for every table."""


class Failed(Exception):
    """The one constant reply to a failure that could depend on the data. It has been charged."""

    def __init__(self) -> None:
        super().__init__("The question failed after it was charged. The curator can find the cause in the source.")
