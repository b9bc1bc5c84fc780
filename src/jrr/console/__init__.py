"""The operator's pages in a browser: the collector's console, status of dealers and parties."""
