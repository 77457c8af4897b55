"""Save and load networks, write files atomically, show progress.

Also exports the folder for cached files.
"""

from jaxbern.io._atomic_write import flush as flush
from jaxbern.io._atomic_write import replacing as replacing
from jaxbern.io._atomic_write import temporary_name as temporary_name
from jaxbern.io._atomic_write import write_text as write_text
from jaxbern.io._progress_bar import bar_wanted as bar_wanted
from jaxbern.io._progress_bar import new_bar as new_bar
from jaxbern.kernels.cache_folder import CACHE_VARIABLE as CACHE_VARIABLE
from jaxbern.kernels.cache_folder import cache_folder as cache_folder
