"""What a user of the generated Python client writes: plan a restore, start it as a dry run, list restores."""

import json
import sys

from rewarm_client import Client
from rewarm_client.api.plans import plan_restore
from rewarm_client.api.restores import list_restores, start_restore
from rewarm_client.models import RestoreRequest

client = Client(base_url=sys.argv[1])
request = RestoreRequest.from_dict(json.loads(sys.argv[2]))
plan = plan_restore.sync(client=client, body=request)
request.dry_run = True
started = start_restore.sync(client=client, body=request)
listed = list_restores.sync(client=client)
print(
    json.dumps(
        {
            "strategy": str(plan.plans[0].plan.strategy),
            "restoreId": started.restore_id,
            "listed": started.restore_id in [restore.restore_id for restore in listed.restores],
        }
    )
)
