"""The S3 server of the local stack: real, private by default, and gone with its parent."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import requests

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from local.objectstore import create_public_bucket, running_objectstore

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_objectstore() as running:
        yield running


def client_for(endpoint: str, region: str) -> "S3Client":
    return s3_client(Settings(tos_endpoint_url=endpoint, tos_region=region, tos_access_key="any", tos_secret_key="any"))


def test_objects_outside_a_public_bucket_are_private(endpoint: str) -> None:
    client = client_for(endpoint, "us-east-1")
    client.create_bucket(Bucket="closed")
    client.put_object(Bucket="closed", Key="a", Body=b"abc")

    assert requests.get(f"{endpoint}/closed/a", timeout=10).status_code == 403
    assert client.get_object(Bucket="closed", Key="a")["Body"].read() == b"abc"


@pytest.mark.parametrize("region", ["cn-beijing", "us-east-1", "ap-southeast-1"])
def test_anybody_reads_from_a_public_bucket_and_it_may_be_made_again(endpoint: str, region: str) -> None:
    client = client_for(endpoint, region)
    bucket = f"open-{region}"
    create_public_bucket(client, bucket)
    client.put_object(Bucket=bucket, Key="a/1.png", Body=b"abc", ContentType="image/png")

    create_public_bucket(client, bucket)

    got = requests.get(f"{endpoint}/{bucket}/a/1.png", timeout=10)
    assert (got.status_code, got.content, got.headers["Content-Type"]) == (200, b"abc", "image/png")


def test_a_taken_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(RuntimeError, match=f"did not start on port {port}"), running_objectstore(port):
            pass


def test_the_server_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time\nfrom local.objectstore import running_objectstore\n"
            "with running_objectstore() as endpoint:\n    print(endpoint, flush=True)\n    time.sleep(60)",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        endpoint = parent.stdout.readline().strip()
        assert requests.get(endpoint, timeout=10).status_code < 500

        parent.send_signal(signal.SIGKILL)

    assert stops_answering(endpoint)


def stops_answering(endpoint: str) -> bool:
    for _ in range(100):
        try:
            requests.get(endpoint, timeout=10)
        except requests.ConnectionError:
            return True
        time.sleep(0.05)
    return False
