"""Without Triton its sample kernels cannot even be imported to look for doctests."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("triton") else ["samples.py"]
