"""The IBM Spyre accelerator as a PyTorch device, emulated on this machine.

`import torch` loads this package by itself (entry point `torch.backends`); importing it by name
does the same. Everything a user calls is `torch.spyre.*` (device_module.py).
"""

__version__ = "0.1.0"  # before the imports: they load this package, which reads it

import torch  # noqa: F401  (autoloads this package, unless TORCH_DEVICE_BACKEND_AUTOLOAD=0)

from torch_spyre._autoload import autoload

autoload()
