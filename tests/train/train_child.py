"""``python -m tests.train.train_child DIRECTORY``: a training to be killed."""

import sys
import time

import jaxbern as jb
from tests.train.train_cases import IMPATIENT, events


class Slow(jb.train.Callback):
    """Delays epochs, so that the training can be killed in the middle."""

    def epoch(self, records):
        time.sleep(0.05)


if __name__ == "__main__":
    jb.train.fit(
        IMPATIENT,
        events(),
        directory=sys.argv[1],
        resume=True,
        callbacks=[Slow()],
        checkpoint_seconds=0,
    )
