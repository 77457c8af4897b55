"""List, download, convert and plot data sets."""
