"""A model behind an OpenAI-compatible server on this machine: `python -m tests.tiny.serve MODEL.gguf PORT`.

One slot, for more gain nothing on few processors. What it answers varies, as with any model; that nights can be
recomputed is the recording's doing. It ends with SIGTERM, and with its standard input, so that it never outlives
whoever started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading


def main(model: str, port: int) -> None:
    import xllamacpp

    asked = xllamacpp.CommonParams()
    asked.model.path = model
    asked.hostnames, asked.port = ["127.0.0.1"], port
    asked.n_parallel, asked.n_ctx = 1, 4096
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = os.cpu_count() or 2
    asked.n_gpu_layers, asked.fit_params, asked.ui = 0, False, False
    asked.cache_prompt, asked.cache_ram_mib = True, 256
    asked.model_alias = {"tiny"}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = xllamacpp.Server(asked)
    print("ready", server.listening_address, flush=True)
    threading.Thread(target=_with_its_input, daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)


def _with_its_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
