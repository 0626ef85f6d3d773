"""One evaluation, many renderings. Nothing here decides."""
