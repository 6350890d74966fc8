"""The command line: what is refused, and in which words."""

from decimal import Decimal

import pytest

from local.tools.run.options import Options, parse


def test_without_options_everything_has_a_default():
    assert parse([]) == Options()
    assert (Options().size_gib, Options().strategy) == (2, "auto")


def test_every_option_is_taken():
    text = (
        "--strategy warm-up-agent --size-gib 4 --written-percent 30 --deadline-minutes 60 --max-cost-usd 0.5 "
        "--seed 7 --throughput 500 --json --keep-running --skip-second --scenario drill --region cn-north-1 "
        "--state-dir /tmp/elsewhere"
    )
    options = parse(text.split())
    assert options.strategy == "warm-up-agent"
    assert (options.size_gib, options.written_percent, options.seed) == (4, 30, 7)
    assert (options.deadline_minutes, options.max_cost_usd) == (60, Decimal("0.5"))
    assert options.throughput == 500
    assert options.as_json
    assert options.keep_running
    assert options.skip_second
    assert options.scenario == "drill"
    assert options.region == "cn-north-1"
    assert str(options.state_dir) == "/tmp/elsewhere"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("--size-gib 0", "argument --size-gib: found 0; a whole number of GiB from 1 to 64 is allowed"),
        ("--size-gib two", "argument --size-gib: found 'two'; a whole number of GiB from 1 to 64 is allowed"),
        ("--throughput 1000", "found 1000; a whole number of MiB/s from 125 to 750 is allowed"),
        ("--written-percent 90", "found 90; a whole number of percent from 5 to 85 is allowed"),
        ("--deadline-minutes 0", "found 0; a whole number of minutes from 1 to 10080 is allowed"),
        ("--max-cost-usd -1", "found '-1'; an amount of US dollars, 0 or more, is allowed"),
        ("--max-cost-usd nan", "found 'nan'; an amount of US dollars, 0 or more, is allowed"),
        ("--max-cost-usd ten", "found 'ten'; an amount of US dollars, 0 or more, is allowed"),
        ("--strategy fastest", "invalid choice: 'fastest'"),
        ("--region Tokyo", "found 'Tokyo'; a Region's name such as us-east-1 is allowed"),
        ("--colour", "unrecognized arguments: --colour"),
    ],
)
def test_a_bad_value_ends_with_status_2_and_a_sentence(text, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(text.split())
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
