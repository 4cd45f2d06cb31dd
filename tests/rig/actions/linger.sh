# Read by every bash of a step. act loses what a step printed last if it fails at once, so it fails a moment later.
trap '[ $? = 0 ] || sleep 0.1' EXIT
