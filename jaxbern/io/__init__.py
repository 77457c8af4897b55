"""Files: networks written and read back, and writing that leaves no half of a file."""

from jaxbern.io._atomic_write import flush as flush
from jaxbern.io._atomic_write import replacing as replacing
from jaxbern.io._atomic_write import temporary_name as temporary_name
from jaxbern.io._atomic_write import write_text as write_text
