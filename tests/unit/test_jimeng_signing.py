"""The two signatures against worked examples (jimeng-wire 2.4, 6.2)."""

import pytest

from jimeng_tasks.jimeng.signing import UploadKeys, sign, upload_headers

KEYS = UploadKeys(
    access_key="AKEXAMPLE0001", secret_key="SKEXAMPLE0002", session_token="STSEXAMPLE0003", region="cn-north-1"
)


@pytest.mark.parametrize(
    ("path", "appvr", "expected"),
    [
        ("/mweb/v1/aigc_draft/generate", "8.4.0", "050615d4bfc9047fbab2a4393676b3db"),
        ("/mweb/v1/get_history_by_ids", "8.4.0", "3b5cfd6fb9927965b97c9abcc4cec558"),
        ("/commerce/v1/benefits/user_credit", "8.4.0", "ba5c5e8a03c9a11f3c7ffda27ec80565"),
        ("/mweb/v1/get_upload_token", "8.4.0", "e9367e934d9c365cb4a1aeb93600aa0b"),
        ("/mweb/v1/aigc_draft/generate", "5.8.0", "3c82dda9a236d5cb3671cfa32a5de91e"),
    ],
)
def test_sign_header(path: str, appvr: str, expected: str) -> None:
    assert sign(path, "7", appvr, 1767225600) == expected


def test_signature_of_apply() -> None:
    query = {
        "Action": "ApplyImageUpload",
        "Version": "2018-08-01",
        "ServiceId": "tb4s082cfz",
        "FileSize": "12",
        "s": "abcde12345",
    }

    headers = upload_headers(KEYS, query, None, "20260101T000000Z")

    assert headers == {
        "x-amz-date": "20260101T000000Z",
        "x-amz-security-token": "STSEXAMPLE0003",
        "authorization": "AWS4-HMAC-SHA256 Credential=AKEXAMPLE0001/20260101/cn-north-1/imagex/aws4_request, "
        "SignedHeaders=x-amz-date;x-amz-security-token, "
        "Signature=663dc523c88bc3503ff27d88efd2d36465e2c42f5e0363e356052185421eac58",
    }


def test_signature_of_commit() -> None:
    query = {"Action": "CommitImageUpload", "Version": "2018-08-01", "ServiceId": "tb4s082cfz"}

    headers = upload_headers(KEYS, query, b'{"SessionKey":"c2Vzc2lvbg=="}', "20260101T000005Z")

    assert headers["x-amz-content-sha256"] == "c1876d4f432469f608ed9883dc0dde3947cb0bec664e9e17996e24c4e2cb3d86"
    assert headers["authorization"].endswith(
        "SignedHeaders=x-amz-content-sha256;x-amz-date;x-amz-security-token, "
        "Signature=7fc50eaca2f738f875fdeca55cf60aa1e0ae750c3f43e5cc01de0c0d3c25b255"
    )


def test_keys_do_not_show_when_printed() -> None:
    assert "EXAMPLE" not in repr(KEYS)
