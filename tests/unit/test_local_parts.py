"""What the local stack takes from the environment, and what it shows of it."""

import pytest

from local.parts import completed, without_credentials


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mongodb://user:p%40ss@one:27017,two:27017/db?authSource=admin", "mongodb://one:27017,two:27017"),
        ("mongodb+srv://user:secret@cluster.example/", "mongodb+srv://cluster.example"),
        ("mongodb://one?tlsCertificateKeyFilePassword=secret", "mongodb://one"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://user:secret@host/path", "https://host"),
        ("secretsmanager:production/mongodb:uri", "as a secret says"),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, shown: str) -> None:
    assert without_credentials(address) == shown


def test_what_the_caller_sets_is_kept_and_an_empty_variable_counts_as_not_set() -> None:
    environ = completed({"USE_DATABASE_MODE": "false", "TOS_BUCKET": "", "SERVICE_ID": "only-one"})

    assert environ["USE_DATABASE_MODE"] == "false"
    assert environ["TOS_BUCKET"] == "jimeng-media"
    assert environ["SERVICE_IDS"] == "only-one"
    assert environ["ALLOW_PRIVATE_URLS"] == "true"


def test_two_services_are_run_when_none_is_named() -> None:
    assert completed({})["SERVICE_IDS"].count(",") == 1
