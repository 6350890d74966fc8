"""/opt of a Lambda with layers (compat_lambda_layers.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.stack.state_machines import create_lambda, zip_of

if TYPE_CHECKING:
    from local.aws.host import Host

SOURCE = """
import os
from pathlib import Path

def handler(event, context):
    folder = Path(os.environ["AGENT_DIRECTORY"])
    names = sorted(path.name for path in folder.iterdir())
    return {"names": names, "text": Path(os.environ["ONE_FILE"]).read_text()}
"""


def publish(host, name, files):
    answer = host.client("lambda").publish_layer_version(LayerName=name, Content={"ZipFile": zip_of(files)})
    return answer["LayerVersionArn"]


def test_opt_holds_the_files_of_all_layers(host: Host):
    layers = [publish(host, "one", {"first": "1", "sub/deep": "deep"}), publish(host, "two", {"second": "2"})]
    environment = {"AGENT_DIRECTORY": "/opt", "ONE_FILE": "/opt/sub/deep"}
    function = create_lambda(host, SOURCE, environment=environment, layers=layers)
    answer = host.client("lambda").invoke(FunctionName=function, Payload=b"{}")
    assert json.loads(answer["Payload"].read()) == {"names": ["first", "second", "sub"], "text": "deep"}
