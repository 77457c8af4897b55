"""The operator: its arguments, and which implementation computes it.

Exports what other packages of jaxbern need; users import it from ``jaxbern``.
"""

from jaxbern.op._dispatch import explain as explain
from jaxbern.op._dispatch import implementation as implementation
from jaxbern.op._dispatch import requested as requested
from jaxbern.op._operator import bernstein as bernstein
from jaxbern.op._operator import bernstein_norm as bernstein_norm
from jaxbern.op._operator_arguments import arithmetic as arithmetic
from jaxbern.op._operator_arguments import check_degree as check_degree
from jaxbern.op._operator_arguments import check_outside as check_outside
from jaxbern.op._operator_arguments import checked_interval as checked_interval
from jaxbern.op._operator_arguments import floating as floating
from jaxbern.op._operator_arguments import widths as widths
