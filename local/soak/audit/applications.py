"""Whether a user's document was sent more than once for a restore, which it had not allowed."""

from __future__ import annotations

from collections import Counter

from local.soak.lab.instances.hook import AGAIN
from local.soak.lab.lab import FastLab


def findings(lab: FastLab) -> list[str]:
    """A sentence for each restore and document that was sent twice."""
    own = {*lab.stack.documents, AGAIN}
    sent = Counter(
        (command.document, str(command.request.get("Comment")))
        for command in lab.region._commands.known.values()
        if command.document not in own
    )
    return [
        f"the document {name} was sent {count} times: {comment}"
        for (name, comment), count in sent.items()
        if count > 1
    ]
