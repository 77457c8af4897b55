"""Files: networks written and read back, writing that leaves no half of a file.

Also the folder of everything that is cached, and the one progress bar.
"""

from jaxbern.io._atomic_write import flush as flush
from jaxbern.io._atomic_write import replacing as replacing
from jaxbern.io._atomic_write import temporary_name as temporary_name
from jaxbern.io._atomic_write import write_text as write_text
from jaxbern.io._progress_bar import bar_wanted as bar_wanted
from jaxbern.io._progress_bar import new_bar as new_bar
from jaxbern.kernels.cache_folder import CACHE_VARIABLE as CACHE_VARIABLE
from jaxbern.kernels.cache_folder import cache_folder as cache_folder
