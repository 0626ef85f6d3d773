"""Files: state, ledger, lock, tree, signal."""
