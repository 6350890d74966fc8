// What a user of the generated TypeScript client writes: plan a restore, start it as a dry run, list restores.
import { Configuration, PlansApi, RestoreRequestFromJSON, RestoresApi } from "./rewarm";

declare const process: { argv: string[] };

async function main(address: string, body: string): Promise<void> {
  const configuration = new Configuration({ basePath: address });
  const request = RestoreRequestFromJSON(JSON.parse(body));
  const plan = await new PlansApi(configuration).planRestore({ restoreRequest: request });
  const restores = new RestoresApi(configuration);
  const started = await restores.startRestore({ restoreRequest: { ...request, dryRun: true } });
  const listed = await restores.listRestores({});
  console.log(
    JSON.stringify({
      strategy: plan.plans[0].plan.strategy,
      restoreId: started.restoreId,
      listed: listed.restores.some((restore) => restore.restoreId === started.restoreId),
    }),
  );
}

void main(process.argv[2], process.argv[3]);
