"""One failing file system, and one sweep over the operations that write: nothing acknowledged is lost."""
