"""A rig of real parts on loopback: git over HTTP, GitHub's API, and the runner of workflows.

`accounts` says who there is, `loopback` is a server that can go wrong, `gitserver` puts git's own HTTP backend behind
it, `github` runs the emulator of GitHub's API, `frontdoor` makes both one origin, `runner` runs workflows against it.
Beside them lies the real `claude`. The fixtures are in `fixtures`.
"""
