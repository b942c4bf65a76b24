"""TCL and KEAT-TCL: two Transformers over the last events of a pair's ends, which look at each other."""

from keat.models.tcl.tcl_model import TCL, TCLConfig

__all__ = ["TCL", "TCLConfig"]
