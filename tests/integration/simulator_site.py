"""A running simulator and a small client of its wire, written for its tests from the contract alone."""

import copy
import hashlib
import hmac
import json
import socket
import threading
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import uvicorn

from local.simulator import create_app
from local.simulator.state import Settings

Json = dict[str, Any]
REGIONS = {"cn": 513695, "us": 513641, "hk": 513641}
SIGV4_REGIONS = {"cn": "cn-north-1", "us": "us-east-1", "hk": "ap-southeast-1"}
MODEL = "high_aes_general_v40l"
VIDEO_MODEL = "dreamina_ic_generate_video_model_vgfm_3.0"


@contextmanager
def serving() -> Iterator[str]:
    """A simulator on a free port with quick jobs; yields its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    app = create_app(settings=Settings(image_step=0.05, video_step=0.2))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield address
    server.should_exit = True
    thread.join()
    listener.close()


class Site:
    """One account's view of the simulator, and the tester's `/_sim` calls."""

    def __init__(self, address: str, token: str, region: str = "cn") -> None:
        self.address = address
        self.token = token
        self.region = region

    def post(self, path: str, body: Json | None = None, **changes: Any) -> requests.Response:
        """A signed call; `headers`, `query` and `timeout` change what is sent."""
        query = {"aid": str(REGIONS[self.region]), "device_platform": "web", "region": self.region}
        query = changes.get("query", query) | changes.get("extra", {})
        headers = self.headers(path) | changes.get("headers", {})
        data = changes.get("data", json.dumps(body if body is not None else {}).encode())
        timeout = changes.get("timeout", 10)
        return requests.post(self.address + path, params=query, data=data, headers=headers, timeout=timeout)

    def headers(self, path: str, device_time: str = "1767225600") -> dict[str, str]:
        """The functional headers of a call."""
        text = f"9e2c|{path[-7:]}|7|8.4.0|{device_time}||11ac"
        return {
            "Content-Type": "application/json",
            "Appid": str(REGIONS[self.region]),
            "Appvr": "8.4.0",
            "Pf": "7",
            "Device-Time": device_time,
            "Sign": hashlib.md5(text.encode()).hexdigest(),
            "Sign-Ver": "1",
            "Cookie": f"_tea_web_id=7100000000000000000; sessionid={self.token}",
        }

    def call(self, path: str, body: Json | None = None, **changes: Any) -> Json:
        """The JSON answer of a signed call."""
        answer: Json = self.post(path, body, **changes).json()
        return answer

    def generate(self, body: Json, **changes: Any) -> Json:
        """The answer of a submission."""
        return self.call("/mweb/v1/aigc_draft/generate", body, **changes)

    def submit(self, body: Json) -> str:
        """Submit a job that must be accepted; its history id."""
        answer = self.generate(body)
        assert answer["ret"] == "0", answer
        return str(answer["data"]["aigc_data"]["history_record_id"])

    def look_up(self, *history_ids: str) -> Json:
        """Records by history id."""
        answer: Json = self.call("/mweb/v1/get_history_by_ids", {"history_ids": list(history_ids)})["data"]
        return answer

    def finished(self, history_id: str) -> Json:
        """The record once it has a final status."""
        for _ in range(200):
            found = self.look_up(history_id).get(history_id, {})
            if found.get("status") not in (None, 0, 20, 42, 45):
                return dict(found)
            time.sleep(0.03)
        raise AssertionError("the job did not end")

    def admin(self, method: str, path: str, body: Json | None = None) -> Any:
        """A tester's call."""
        answer = requests.request(method, f"{self.address}/_sim/{path}", json=body, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def script(self, script: Json, *, prompt: str | None = None, times: int | None = None) -> None:
        """A rule for this account."""
        match = {"token": self.token} | ({"prompt_contains": prompt} if prompt else {})
        self.admin("POST", "scripts", {"match": match, "script": script, "times": times})

    def signed(
        self, method: str, query: str, keys: Json, body: bytes = b"", service: str = "imagex"
    ) -> requests.Response:
        """An upload service call with its signature (jimeng-wire 6.2)."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {"x-amz-date": now, "x-amz-security-token": keys["session_token"]}
        if method == "POST":
            headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
        scope = f"{SIGV4_REGIONS[self.region]}/{service}"
        headers["authorization"] = authorization(method, query, headers, body, keys, scope)
        sent = headers | ({"content-type": "application/json"} if method == "POST" else {})
        return requests.request(method, f"{self.address}/?{query}", data=body, headers=sent, timeout=10)

    def keys(self) -> Json:
        """Image upload keys; abroad the service id stands in `space_name`."""
        keys: Json = self.call("/mweb/v1/get_upload_token", {"scene": 2})["data"]
        return keys | {"service": keys["service_id"] if self.region == "cn" else keys["space_name"]}

    def apply(self, keys: Json, size: int) -> Json:
        """The upload address for `size` bytes."""
        query = f"Action=ApplyImageUpload&Version=2018-08-01&ServiceId={keys['service']}&FileSize={size}&s=abcde12345"
        address: Json = self.signed("GET", query, keys).json()["Result"]["UploadAddress"]
        return address

    def store(self, address: Json, content: bytes, crc: str | None = None) -> requests.Response:
        """Send the bytes to the store."""
        info = address["StoreInfos"][0]
        headers = {"Authorization": info["Auth"], "Content-CRC32": crc or f"{zlib.crc32(content):08x}"}
        headers["Content-Type"] = "application/octet-stream"
        url = f"{address['UploadHosts'][0]}/upload/v1/{info['StoreUri']}"
        return requests.post(url, data=content, headers=headers, timeout=10)

    def commit(self, keys: Json, address: Json) -> Json:
        """Commit a stored upload; the whole answer."""
        query = f"Action=CommitImageUpload&Version=2018-08-01&ServiceId={keys['service']}"
        body = json.dumps({"SessionKey": address["SessionKey"]}).encode()
        answer: Json = self.signed("POST", query, keys, body).json()
        return answer

    def uploaded(self, content: bytes) -> str:
        """Upload an image all the way; its uri."""
        keys = self.keys()
        address = self.apply(keys, len(content))
        assert self.store(address, content).json()["code"] == 2000
        result: Json = self.commit(keys, address)["Result"]["Results"][0]
        assert result["UriStatus"] == 2000
        return str(result["Uri"])


def authorization(method: str, query: str, headers: dict[str, str], body: bytes, keys: Json, scope: str) -> str:
    """The `authorization` header for a scope `region/service` (jimeng-wire 6.2)."""
    names = ";".join(sorted(headers))
    block = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    digest = hashlib.sha256(body).hexdigest()
    request = "\n".join([method, "/", "&".join(sorted(query.split("&"))), block, names, digest])
    scope = f"{headers['x-amz-date'][:8]}/{scope}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{keys['secret_access_key']}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={keys['access_key_id']}/{scope}, SignedHeaders={names}, Signature={signature}"


def node(**fields: Any) -> Json:
    """An object of the draft with its own id."""
    return {"type": "", "id": str(uuid.uuid4()), **fields}


def image_draft(prompt: str, *, model: str = MODEL, gen_count: int | None = None, uris: tuple[str, ...] = ()) -> Json:
    """A text-to-image draft, or a blend of committed images."""
    size = node(min_version="3.0.2", height=2048, width=2048, resolution_type="2k")
    core = node(model=model, prompt="##" * len(uris) + prompt, negative_prompt="", sample_strength=0.5, image_ratio=1)
    core |= {"large_image_info": size, "intelligent_ratio": False}
    option = node(generate_all=False) | ({"gen_count": gen_count} if gen_count else {})
    if not uris:
        core["seed"] = 2512345678
        return _draft("image_base_component", "generate", node(generate=node(core_param=core), gen_option=option))
    blend = node(
        min_version="3.2.9",
        min_features=[],
        core_param=core,
        ability_list=[
            node(name="byte_edit", image_uri_list=[uri], image_list=[frame(uri)], strength=0.5) for uri in uris
        ],
        prompt_placeholder_info_list=[node(ability_index=index) for index in range(len(uris))],
        postedit_param=node(generate_type=0),
    )
    return _draft("image_base_component", "blend", node(blend=blend, gen_option=option))


def video_draft(prompt: str, frames: tuple[str, ...] = ()) -> Json:
    """A text, first frame, or first and last frame video draft of five seconds."""
    clip = node(min_version="3.0.5", prompt=prompt, video_mode=2, fps=24, duration_ms=5000, resolution="720p")
    clip |= {name: frame(uri) for name, uri in zip(("first_frame_image", "end_frame_image"), frames, strict=False)}
    params = node(video_gen_inputs=[clip | {"idip_meta_list": []}], video_aspect_ratio="16:9", seed=1234567890)
    params |= {"model_req_key": VIDEO_MODEL, "priority": 0}
    work = node(text_to_video_params=params, video_task_extra=json.dumps(VIDEO_METRICS))
    return _draft("video_base_component", "gen_video", node(gen_video=work))


def frame(uri: str) -> Json:
    """An uploaded image inside a draft."""
    fixed = {"source_from": "upload", "platform_type": 1, "name": "", "width": 0, "height": 0, "format": ""}
    return node(image_uri=uri, uri=uri, **fixed) | {"type": "image"}


VIDEO_METRICS = {"promptSource": "custom", "functionMode": "first_last_frames", "sceneOptions": "[]"}


def body_of(draft: Json, submit_id: str | None = None, aid: int = 513695) -> Json:
    """The outer body of a draft, with the benefit of a video."""
    submit_id = submit_id or str(uuid.uuid4())
    component = draft["component_list"][0]
    abilities = component["abilities"]
    if component["generate_type"] == "gen_video":
        extend: Json = {"root_model": abilities["gen_video"]["text_to_video_params"]["model_req_key"]}
        benefit = {"benefit_type": "basic_video_operation_vgfm_v_three", "resource_id": "generate_video"}
        benefit |= {"resource_id_type": "str", "resource_sub_type": "aigc"}
        extend |= {"m_video_commerce_info": benefit, "m_video_commerce_info_list": [copy.copy(benefit)]}
        metrics: Json = VIDEO_METRICS
    else:
        extend = {"root_model": abilities[component["generate_type"]]["core_param"]["model"]}
        scene = {"type": "image", "scene": "ImageBasicGenerate", "resolutionType": "2k", "benefitCount": 4}
        metrics = {"generateId": submit_id, "sceneOptions": json.dumps([scene])}
    return {
        "extend": extend,
        "submit_id": submit_id,
        "metrics_extra": json.dumps(metrics),
        "draft_content": json.dumps(draft),
        "http_common_info": {"aid": aid},
    }


def omni_body(uri: str, vid: str) -> Json:
    """A mixed-material job of one picture and one clip (jimeng-wire 4.11)."""
    body = body_of(video_draft(""))
    draft = json.loads(body["draft_content"])
    draft |= {"min_version": "3.3.9", "min_features": ["AIGC_Video_UnifiedEdit"]}
    work = draft["component_list"][0]["abilities"]["gen_video"]
    clip = work["text_to_video_params"]["video_gen_inputs"][0]
    del clip["resolution"]
    movie = {"source_from": "upload", "name": "", "vid": vid, "fps": 0, "width": 640, "height": 480, "duration": 4000}
    materials = [
        node(material_type="image", image_info=frame(uri)),
        node(material_type="video", video_info=node(**movie) | {"type": "video"}),
    ]
    texts = [
        {"meta_type": "image", "text": "", "material_ref": {"material_idx": 0}},
        {"meta_type": "text", "text": " moves like "},
        {"meta_type": "video", "text": "", "material_ref": {"material_idx": 1}},
    ]
    clip |= {"min_version": "3.3.9", "unified_edit_input": node(material_list=materials, meta_list=texts)}
    metrics = json.dumps({"functionMode": "omni_reference", "originSubmitId": body["submit_id"]})
    work["video_task_extra"] = metrics
    model = "dreamina_seedance_40"
    work["text_to_video_params"]["model_req_key"] = model
    info = body["extend"]["m_video_commerce_info"] | {"benefit_type": "dreamina_seedance_20_fast_with_video"}
    extend = {"root_model": model, "m_video_commerce_info": info, "m_video_commerce_info_list": [info]}
    return body | {"draft_content": json.dumps(draft), "metrics_extra": metrics, "extend": extend}


def _draft(kind: str, generate_type: str, abilities: Json) -> Json:
    video = generate_type == "gen_video"
    metadata = node(created_platform=3, created_platform_version="", created_time_in_ms="1767225600123", created_did="")
    component = node(min_version="1.0.0" if video else "3.0.2", aigc_mode="workbench", metadata=metadata)
    component |= {"type": kind, "generate_type": generate_type, "abilities": abilities}
    lowest = {"generate": "3.0.2", "blend": "3.2.9", "gen_video": "3.0.5"}[generate_type]
    draft = node(min_version=lowest, min_features=[], is_from_tsn=True, version="3.3.9") | {"type": "draft"}
    return draft | {"main_component_id": component["id"], "component_list": [component]}
