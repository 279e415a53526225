"""The site's answer shapes (jimeng-wire 3.1, 3.2) and the two ways a request ends early."""

import json
import time
import uuid
from typing import Any

from fastapi.responses import HTMLResponse, JSONResponse, Response

Json = dict[str, Any]

HTML_PAGE = "<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


class Refusal(Exception):
    """The site understood the request and says no: HTTP 200 with a `ret` that is not "0"."""

    def __init__(self, ret: str, errmsg: str, data: Json | None = None) -> None:
        super().__init__(f"{ret} {errmsg}")
        self.ret = ret
        self.errmsg = errmsg
        self.data = data


class Dropped(Exception):
    """The connection is to be cut without (the rest of) an answer; `reset` sends RST instead of FIN."""

    def __init__(self, *, reset: bool = True) -> None:
        super().__init__("connection dropped by script")
        self.reset = reset


def log_id() -> str:
    """A fresh id in the style of the site's `logid`."""
    return time.strftime("%Y%m%d%H%M%S") + uuid.uuid4().hex[:20].upper()


def envelope(data: Any, ret: str | int = "0", errmsg: str = "success") -> JSONResponse:
    """The standard envelope of `/mweb/...`."""
    return JSONResponse(
        {"ret": ret, "errmsg": errmsg, "systime": str(int(time.time())), "logid": log_id(), "data": data}
    )


def commerce(data: Json | None, ret: str = "0", errmsg: str = "success") -> JSONResponse:
    """The commerce envelope: `log_id`, and the payload once more as text in `response`."""
    body = {
        "ret": ret,
        "errmsg": errmsg,
        "svr_time": int(time.time()),
        "log_id": log_id(),
        "response": json.dumps(data, separators=(",", ":")),
        "sign": "c2ltdWxhdGVk",
        "data": data,
    }
    return JSONResponse(body)


def failure_data(fail_code: str, starling_key: str, message: str) -> Json:
    """`data` of a refused generate (jimeng-wire 3.2)."""
    return {
        "aigc_data": None,
        "fail_code": fail_code,
        "fail_starling_key": starling_key,
        "fail_starling_message": message,
    }


def invalid(reason: str) -> Refusal:
    """The site's "invalid parameter" refusal; the reason is for whoever reads the test's output."""
    return Refusal("1000", f"invalid parameter: {reason}")


def no_credits() -> Refusal:
    """The refusal of an account without credits, key spelt as on the wire (jimeng-wire 3.2)."""
    message = "not enough credits"
    key = "web_dre_m10n_generate_popup_credit_ininsufficient_title"
    return Refusal("1006", message, failure_data("1006", key, message))


def http_fault(status: int, body: str, retry_after: str | None) -> Response:
    """An answer that is no envelope: `body` is html, json or empty."""
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    if body == "json":
        return JSONResponse({"message": "upstream trouble"}, status, headers)
    if body == "empty":
        return Response(status_code=status, headers=headers)
    return HTMLResponse(HTML_PAGE, status, headers)
