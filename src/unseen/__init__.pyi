from . import datasets as datasets
from . import metrics as metrics
from .base import ZeroShotClassifier as ZeroShotClassifier
from .calibration.classifier import CalibratedClassifier as CalibratedClassifier
from .calibration.curve import SeenUnseenCurve as SeenUnseenCurve
from .calibration.curve import mean_curve as mean_curve
from .datasets.dataset import ZeroShotDataset as ZeroShotDataset
from .errors import UnseenError as UnseenError
from .methods._moments import Moments as Moments
from .methods.cosine import Cosine as Cosine
from .methods.eszsl import ESZSL as ESZSL
from .methods.lda import LDA as LDA
from .methods.linear import LinearSV as LinearSV
from .methods.linear import LinearVS as LinearVS
from .methods.ranking import ALE as ALE
from .methods.ranking import SJE as SJE
from .methods.ranking import DeViSE as DeViSE
from .methods.sae import SAE as SAE
from .methods.sync import SynC as SynC
from .selection.search import GZSLClassifierCV as GZSLClassifierCV

__version__: str
