"""Make the folder of training scripts importable: it is no part of the package."""

from __future__ import annotations

import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
if str(REPO) not in sys.path:
    sys.path.append(str(REPO))
