"""Train all seeds at once, one compiled call per epoch, by PyTorch's rules.

>>> import jaxbern as jb
>>> data = jb.data.load("collider:higgs", rows=1000)
>>> network = jb.train.NetworkConfig(28, depth=1, width=8, degree=3)
>>> config = jb.train.TrainConfig(network, seeds=(0, 1), epochs=2, batch_size=200)
>>> result = jb.train.fit(config, data)
>>> result.history[1]["auc"].shape
(2,)
>>> logits = result.model(1)(result.split[1].scale(data.x[:5]))
>>> logits.shape
(5, 2)
"""

from jaxbern.nn import NetworkConfig as NetworkConfig
from jaxbern.train._callbacks import Callback as Callback
from jaxbern.train._callbacks import JsonLines as JsonLines
from jaxbern.train._callbacks import ProgressBar as ProgressBar
from jaxbern.train._callbacks import TensorBoard as TensorBoard
from jaxbern.train._callbacks import WandB as WandB
from jaxbern.train._checkpoint import CheckpointError as CheckpointError
from jaxbern.train._config import TrainConfig as TrainConfig
from jaxbern.train._fit import fit as fit
from jaxbern.train._interrupt import Interrupts as Interrupts
from jaxbern.train._measuring import Epochs as Epochs
from jaxbern.train._measuring import epoch_program as epoch_program
from jaxbern.train._result import Result as Result
from jaxbern.train._result import Stop as Stop
