"""The functions of the small stack."""

import json
import os
import urllib.request
from pathlib import Path


def api(event, _context):
    """Answer what was asked, with what the layer holds."""
    path = event.get("pathParameters") or {}
    if path.get("id") == "missing":
        return {"statusCode": 404, "body": json.dumps({"error": "no such order"})}
    if path.get("id") == "broken":
        raise KeyError("a bug")
    seen = {
        "method": event.get("httpMethod"),
        "path": path,
        "query": event.get("queryStringParameters"),
        "body": event.get("body"),
        "detail": event.get("detail"),
        "layer": sorted(entry.name for entry in Path(os.environ["AGENT_DIRECTORY"]).iterdir()),
        "greeting": os.environ["GREETING"],
    }
    status = 202 if event.get("httpMethod") == "POST" else 200
    return {"statusCode": status, "headers": {"X-Seen": "yes"}, "body": json.dumps(seen)}


def publish(event, context):
    """A custom resource: answer by the presigned URL, as CloudFormation asks."""
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": "published",
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": {"Text": event["ResourceProperties"]["Text"].upper()},
    }
    if event["ResourceProperties"]["Text"] == "refuse":
        answer.update(Status="FAILED", Reason="the text was refused by " + context.function_name)
    request = urllib.request.Request(event["ResponseURL"], data=json.dumps(answer).encode(), method="PUT")
    urllib.request.urlopen(request, timeout=10).close()
