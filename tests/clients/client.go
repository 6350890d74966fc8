// What a user of the generated Go client writes: plan a restore, start it as a dry run, list restores.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"example.org/clients/rewarm"
)

func main() {
	var request rewarm.RestoreRequest
	check(json.Unmarshal([]byte(os.Args[2]), &request))
	client, err := rewarm.NewClientWithResponses(os.Args[1])
	check(err)
	plan, err := client.PlanRestoreWithResponse(context.Background(), nil, request)
	check(err)
	dryRun := true
	request.DryRun = &dryRun
	started, err := client.StartRestoreWithResponse(context.Background(), nil, request)
	check(err)
	listed, err := client.ListRestoresWithResponse(context.Background(), nil)
	check(err)
	found := false
	for _, restore := range listed.JSON200.Restores {
		found = found || restore.RestoreId == started.JSON202.RestoreId
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"strategy":  plan.JSON200.Plans[0].Plan.Strategy,
		"restoreId": started.JSON202.RestoreId,
		"listed":    found,
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
