"""How a fleet becomes restores, how far it is, and how it ends.

Routes: plan_fleet, start_fleet, get_fleet, list_fleets, cancel_fleet, redrive_fleet (others in routes).

- progress: how far a fleet is, by the records of its restores
- requests: the requests of the restores: which volumes share one, and where they go
- routes: begins a fleet, shows it, lists fleets, stops one, and restores again what is not ready
- fleet_sources: what a fleet is made of
"""
