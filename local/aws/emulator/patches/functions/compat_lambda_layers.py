"""/opt of a Lambda with layers.

Why: AWS unpacks all layers of a function into /opt. The emulator's Lambdas are processes without a root file
system of their own; their layers lie in folders of the worker. So an environment variable of the function
that names /opt, or a path below it, names the folder that holds those layers' files instead.
"""

from __future__ import annotations

from local.aws.emulator import seam

_UPDATE = "    os.environ.update(env)\n"
_UPDATE_WITH_OPT = (
    _UPDATE
    + """    _opt = os.path.join(os.path.dirname(code_dir), "opt")
    os.makedirs(_opt, exist_ok=True)
    for _layer in filter(None, os.environ.get("_LAMBDA_LAYERS_DIRS", "").split(os.pathsep)):
        for _entry in os.listdir(_layer):
            if not os.path.lexists(os.path.join(_opt, _entry)):
                os.symlink(os.path.join(_layer, _entry), os.path.join(_opt, _entry))
    for _key, _value in env.items():
        if _value == "/opt" or _value.startswith("/opt/"):
            os.environ[_key] = _opt + _value[len("/opt"):]
"""
)


def apply() -> None:
    """Mend the emulator's Lambda."""
    runtime = seam.module("core.lambda_runtime")
    script = seam.known(runtime, "_PYTHON_WORKER_SCRIPT", _UPDATE, "_LAMBDA_LAYERS_DIRS")
    seam.known(runtime.Worker, "_spawn", '"env": env_vars', '"_LAMBDA_LAYERS_DIRS"')
    seam.replace(runtime, "_PYTHON_WORKER_SCRIPT", script.replace(_UPDATE, _UPDATE_WITH_OPT, 1))
