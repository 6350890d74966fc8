"""What the record says of the application that is brought back after a restore."""

from rewarm.contracts.after import Application
from rewarm.domain.model import CommandDocument
from rewarm.steps.record.restore import KnownRestore, RestoreNotes
from rewarm.steps.record.volume import Item

_NAME, _DOCUMENT = "application", "hookDocument"


class KnownDocument(Item):
    """The user's document, as it was when the restore began."""

    version: str | None = None
    sha256: str | None = None
    problem: str | None = None


def keep(application: Application, restore: RestoreNotes, was: Application | None) -> bool:
    """Writes it; False if somebody else wrote first, or the restore is cancelled.

    If DynamoDB's answer was lost, botocore's next try finds what the first one wrote, and is refused.
    """
    before = None if was is None else was.to_json()
    after = application.to_json()
    if restore.table.replace_value(restore.restore_id, _NAME, after, was=before):
        return True
    found = restore.read().application
    return found is not None and found.to_json() == after


def end(application: Application, restore: RestoreNotes) -> None:
    """Writes how it ended, also if the restore is cancelled."""
    restore.table.update(restore.restore_id, {_NAME: application.to_json()})


def document_of(record: KnownRestore) -> KnownDocument:
    """The document when the restore began; empty if nobody looked."""
    return KnownDocument.model_validate(record.raw.get(_DOCUMENT) or {})


def note_document(found: CommandDocument | None, problem: str | None, restore: RestoreNotes) -> None:
    """Which version of the document is to be sent, or why none is."""
    noted = {"version": found.version, "sha256": found.sha256} if found else {}
    restore.table.update(restore.restore_id, {_DOCUMENT: {**noted, "problem": problem}})
