"""A real S3 server on this machine: moto's, over HTTP, in a process of its own that ends with its parent."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_HOST = "127.0.0.1"
_STOP_SECONDS = 5


@contextmanager
def running_objectstore(port: int = 0) -> Iterator[str]:
    """Run an S3 server on ``port`` (0: any free one) and give its endpoint URL; it forgets everything at the end.

    Raises:
        RuntimeError: it did not start, such as when the port is taken.
    """
    # Its own session: Ctrl-C in the terminal must reach it through its parent, in the parent's order.
    with subprocess.Popen(
        [sys.executable, "-P", __file__, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            endpoint = process.stdout.readline().strip()
            if not endpoint:
                raise RuntimeError(f"the S3 server did not start on port {port}; is the port taken?")
            yield endpoint
        finally:
            process.stdin.close()
            _end(process)


def create_public_bucket(client: "S3Client", bucket: str) -> None:
    """Create a bucket whose objects anybody may read; repeatable.

    The policy is what opens it: objects of moto, as of real stores, are private by default.
    """
    region = client.meta.region_name
    location: Any = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    with suppress(client.exceptions.BucketAlreadyOwnedByYou):
        client.create_bucket(Bucket=bucket, **location)
    partition = "aws-cn" if region.startswith("cn-") else "aws"
    statement = {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:{partition}:s3:::{bucket}/*",
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    client.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _serve(port: int) -> None:
    """Serve until standard input ends, which it does when the parent closes it or dies, however it dies."""
    import logging
    import threading

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    logging.disable()
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server(_HOST, port, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://{_HOST}:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
