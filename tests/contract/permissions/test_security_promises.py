"""Each row of SECURITY.md's tables has a test that attacks it, or asks whether it holds.

A row without one fails, and so does a test that is no longer there.
"""

from __future__ import annotations

import re

import pytest

from tests.contract.repository import ROOT

BY_MEANING = "tests/contract/permissions/test_permissions_by_meaning.py"
ROLES = f"{BY_MEANING} test_a_role_may_do_what_the_rules_give_it_and_nothing_else"
ATTACKER = "tests/local/soak/test_attacker.py test_nothing_of_others_is_touched_whatever_tags_it_has"
FORGED = "tests/local/soak/paths/test_forged_agents.py"
CLI, CLICKS = "warmer/tests/cli", "tests/unit/handlers/api/test_slack_clicks.py"
HOT, RECORDED = "tests/unit/domain/volume/test_hot.py", "tests/unit/steps/select/test_select_snapshot.py"
REWIND, SENT = "tests/unit/steps/rewind/test_rewind.py", "tests/workflow/faults/test_hooks.py"
HOSTILE = "tests/local/agent/test_hostile.py"
UNDO = "tests/workflow/rewind/test_undo_logs.py"
GATE, LOGS = "tests/unit/steps/rewind/test_gate.py", "tests/unit/steps/plan/test_rewinds.py"
AUDIT, LEASES = (
    "tests/workflow/adopt/test_adoption_audit.py", "tests/unit/steps/clean_up/test_sweep_unrecorded.py",
)  # fmt: skip
HOOK, AFTER = "tests/local/aws/machines/test_hook.py", "tests/unit/contracts/test_after.py"
SWEEP, UNPROVEN = (f"tests/unit/steps/clean_up/test_sweep{name}.py" for name in ("", "_unproven"))

PROMISES: dict[str, tuple[str, ...]] = {
    # The agent on the instance
    "The agent opens raw devices as root": (
        f"{CLI}/test_read_only.sh the_device_is_open_once_and_for_reading_only",
        f"{CLI}/test_read_only.sh not_a_byte_of_it_changes",
    ),
    "`warmer apply` writes to the wrong device": (
        "tests/local/agent/test_arrangements.py test_no_device_in_use_is_written_to",
        f"{CLI}/test_apply_users.sh a_mount_in_another_namespace_is_found",
        f"{CLI}/test_apply_device.sh a_mounted_device_is_refused",
        f"{GATE} test_packs_are_copied_while_the_evidence_is_pending_but_the_agent_gets_no_part",
    ),
    "A volume that is in use is detached": (
        "warmer/tests/device/test_use.c what_the_kernel_holds_is_never_free",
        "warmer/tests/device/test_use.c a_look_that_fails_hides_no_writer",
    ),
    "A local user keeps the agent from a device": (
        f"{CLI}/test_lock.sh a_name_that_anybody_can_bind_locks_nothing",
        f"{CLI}/test_lock.sh others_cannot_open_the_lock",
    ),
    "A local user redirects what root writes or deletes, by links and renames in a folder of their own": (
        f"{HOSTILE} test_nothing_of_roots_changes_beside_a_hostile_user",
        f"{HOSTILE} test_a_link_named_as_what_an_earlier_benchmark_left_is_left_alone",
        f"{HOSTILE} test_fio_writes_into_the_folder_that_was_made_though_its_name_is_swapped",
    ),
    "Somebody forges what is written": (
        f"{CLI}/test_apply.sh a_block_with_a_wrong_checksum_is_not_written",
        "warmer/tests/delta/test_manifest.c what_is_wrong_is_refused_with_its_line",
        "warmer/tests/delta/test_manifest.c no_address_is_an_option_of_curl",
    ),
    "A pack is a decompression bomb, or breaks the decoder": (
        "warmer/tests/delta/test_pack.c a_frame_that_is_not_the_block_is_refused",
        "warmer/tests/fuzz/fuzz_pack.c LLVMFuzzerTestOneInput",
        "warmer/tests/fuzz/fuzz_unpack.c LLVMFuzzerTestOneInput",
    ),
    "Another program runs in its place": (
        f"{FORGED} test_a_function_that_names_another_program_is_refused_and_the_error_says_so",
        f"{FORGED} test_no_document_of_the_stack_takes_another_program",
        "tests/contract/stack/test_warmer_document.py test_refuses_another_binary",
        "tests/workflow/faults/test_agent_faults.py test_another_binary_is_never_run",
    ),
    "Parameters become shell code": (
        "tests/contract/stack/test_documents.py test_every_parameter_is_bounded_and_used",
        "tests/contract/stack/test_documents.py test_every_parameter_stands_in_single_quotes_once",
    ),
    "A hostile block map": (
        "warmer/tests/plan/test_map.c every_fault_is_refused_with_its_line",
        "warmer/tests/fuzz/fuzz_map.c LLVMFuzzerTestOneInput",
    ),
    "Reading everything leaks data": (
        "tests/local/agent/test_leaks.py test_no_byte_of_what_is_read_is_printed_or_kept",
    ),
    "Recording reads leaks data": (
        "tests/local/agent/test_observe.py test_known_reads_are_recorded_by_events",
    ),
    "Tracing the kernel as root": (
        "warmer/tests/observe/test_trace.c an_instance_and_its_litter_go_when_the_process_is_killed",
        "warmer/tests/observe/test_trace.c what_nobody_holds_goes_at_the_next_start",
        "warmer/tests/observe/test_trace.c without_its_folders_it_is_refused",
    ),
    "Load on a volume that is in use": (
        "warmer/tests/loop/test_polite.c small_reads_stay_under_the_limit_and_the_rest_is_used",
        f"{CLI}/test_apply.sh a_rate_limit_is_kept",
    ),
    # What the bucket decides
    "`agents/<sha256>/warmer`": (f"{FORGED} test_a_forged_index_and_program_in_the_bucket_change_nothing",),
    "`restores/…/blocks.map`, `first.map`, `recordings/…`": (
        "warmer/tests/plan/test_map.c every_fault_is_refused_with_its_line",
        f"{HOT} test_damage_anywhere_in_a_recording_never_leads_beyond_the_device",
    ),
    "`restores/…/progress….json`, `samples.json`": (
        "tests/contract/test_storage_adapters.py test_what_no_agent_writes_is_none",
        "tests/unit/domain/ready/test_readiness.py test_progress_stays_below_100_until_the_agent_says_so",
    ),
    "`restores/…/volumes.json`, `plan….json`, and those of a fleet": (ROLES,),
    "`deltas/…`": (f"{CLI}/test_apply.sh a_block_with_a_wrong_checksum_is_not_written",),
    "`undo/…/log.json`, its packs, `rewound/…json`": (
        f"{UNDO} test_a_log_whose_head_was_changed_to_name_another_volume_writes_nothing",
        "tests/unit/steps/blocks/test_copy_shard.py test_a_pack_of_an_undo_log_that_is_cut_off_is_refused",
        f"{LOGS} test_the_log_s_head_says_which_volume_goes_back_and_over_which_snapshot",
    ),
    "`benchmarks/…`": (ROLES,),
    # Recordings of reads
    "Somebody is recorded who does not want it": (
        f"{HOT} test_a_tag_forbids_recording",
        f"{RECORDED} test_recordings_are_those_of_its_source_volume_and_tags_forbid_them",
    ),
    "Others read a recording": (ROLES,),
    "A recording is forged: whoever can read the command's parameters can upload another one": (
        f"{HOT} test_any_text_is_read_or_refused",
        f"{HOT} test_damage_anywhere_in_a_recording_never_leads_beyond_the_device",
        f"{HOT} test_it_is_a_tenth_of_the_written_blocks_and_never_more_than_64_gib",
    ),
    "Somebody tags a copied snapshot with `rewarm:lineage` and another volume": (
        f"{HOT} test_those_of_copies_are_kept_under_the_volume_that_their_tag_names_and_apart",
        f"{HOT} test_a_tag_that_names_no_volume_counts_for_nothing_and_stops_recording",
    ),
    "It fails or delays a restore": (
        "tests/unit/steps/report/test_report.py test_a_recording_that_could_not_be_sent_is_reported",
    ),
    # The API that everybody can call
    "Somebody forges clicks": (
        f"{CLICKS} test_what_slack_has_not_signed_is_answered_without_a_word",
        f"{CLICKS} test_a_signing_secret_that_was_emptied_signs_nothing",
    ),
    "A click is recorded and sent again": (
        f"{CLICKS} test_the_same_click_again_does_nothing_twice",
        f"{CLICKS} test_a_button_that_names_no_plan_approves_nothing",
    ),
    "The wrong person presses a button": (
        f"{CLICKS} test_only_who_may_can_click",
        f"{CLICKS} test_who_is_listed_may_click",
    ),
    "A secret leaks": (
        ROLES,
        f"{CLICKS} test_the_signing_secret_is_in_no_log",
        f"{CLICKS} test_an_answer_goes_to_slack_only",
        "tests/contract/channels/test_slack_bot.py test_neither_the_token_nor_a_link_is_logged",
    ),
    # Volumes of others
    "`SelectSnapshotFunction`": (ROLES,),
    "`ReleaseFunction`": (ROLES,),
    "`RulesFunction`": (
        ROLES,
        f"{AUDIT} test_a_call_that_changes_a_volume_a_tag_and_a_second_warm_up_are_found",
    ),
    # Tags are hints, and records are proof
    "a volume": (ATTACKER, f"{UNPROVEN} test_a_volume_whose_record_is_lost_is_named_once_a_day"),
    "a boost": (
        ATTACKER, f"{SWEEP} test_the_target_is_the_records_and_not_the_tags",
        f"{UNPROVEN} test_a_boost_that_no_record_knows_is_named_and_not_lowered",
    ),
    "a volume that was replaced": (
        ATTACKER, f"{UNPROVEN} test_a_replaced_volume_whose_record_is_lost_is_named_and_not_moved",
    ),
    "a snapshot's copy, or the snapshot before a rewind": (
        ATTACKER, f"{UNPROVEN} test_a_copy_whose_record_is_lost_is_named",
        f"{REWIND} test_a_backup_to_which_somebody_has_given_our_tags_is_no_way_back",
    ),
    "fast snapshot restore": (
        "tests/unit/domain/volume/test_leftovers_claims.py test_a_claim_that_shows_nothing_owns_nothing",
        "tests/unit/steps/clean_up/test_lost_items.py test_what_somebody_enabled_at_another_time_is_theirs",
    ),
    "an adoption of a [rule](docs/adopt.md#rules)": (
        "tests/contract/table/test_adoptions.py test_a_volume_is_claimed_once_and_stays_so",
    ),
    "what a calibration made": (
        ATTACKER,
        f"{LEASES} test_a_lease_is_no_licence_for_what_was_made_at_another_time",
    ),
    # What brings the application back
    "Who may start restores runs what they like as root": (
        ROLES,
        f"{HOOK} test_a_program_that_only_root_can_write_is_run_with_its_arguments",
        f"{AFTER} test_a_check_is_the_name_of_a_program_and_no_path",
        f"{AFTER} test_a_parameter_names_no_value_that_systems_manager_would_look_up",
    ),
    "Somebody chooses an old version whose parameters are not checked": (
        "tests/unit/steps/select/test_hooks.py test_another_version_than_the_default_one_is_refused",
        f"{SENT} test_a_version_that_its_owner_replaced_is_sent_only_where_a_tag_names_it",
    ),
    "A document gets another content after the plan was looked at": (
        f"{SENT} test_a_document_that_is_replaced_meanwhile_is_not_sent",
    ),
    "A health check reads the instance's credentials, or reaches into the network": (
        f"{AFTER} test_only_the_instance_itself_is_asked",
    ),
    "A snapshot brings programs that root runs, or keys that let somebody log in": (
        f"{HOOK} test_a_folder_without_a_line_in_fstab_is_made_and_mounted_without_devices",
        f"{HOOK} test_a_folder_in_one_that_others_can_write_is_not_taken",
        f"{HOOK} test_a_link_to_another_folder_is_not_followed",
        f"{HOOK} test_only_file_systems_that_the_kernel_reads_itself_are_mounted",
        f"{AFTER} test_an_option_of_a_mount_that_is_not_known_to_be_safe_is_refused",
    ),
    "Output shows secrets": (
        f"{SENT} test_megabytes_of_output_are_cut_to_the_last_four_kib",
    ),
}  # fmt: skip
"""First cell of a row -> file and name of each test."""


def rows() -> list[str]:
    """The first cell of each row of each table, without the tables' heads."""
    lines = (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    heads = {number - 1 for number, line in enumerate(lines) if line.startswith("|---")}
    return [
        re.split(r"(?<!\\)\|", line)[1].strip()
        for number, line in enumerate(lines)
        if line.startswith("|") and not line.startswith("|---") and number not in heads
    ]


def test_every_row_has_a_test_and_every_entry_a_row() -> None:
    found = rows()
    assert len(found) > 40
    assert sorted(found) == sorted(PROMISES)


@pytest.mark.parametrize("row", PROMISES)
def test_the_tests_of_a_row_are_there(row: str) -> None:
    assert PROMISES[row]
    for test in PROMISES[row]:
        path, name = test.split(" ")
        text = (ROOT / path).read_text(encoding="utf-8")
        wanted = rf"def {name}\(" if path.endswith(".py") else rf"\b{name}\b"
        assert re.search(wanted, text), f"{path} has no {name}"
