"""What stands for the content of a file in a fingerprint: mostly its hash, and these where it has none of its own."""

from __future__ import annotations

#: What a file has instead of a hash if nobody may read it.
UNREADABLE = "unreadable"
#: Before the hash of a link's target: a file with the very text of the link is another thing.
LINK = "link:"
