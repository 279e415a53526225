"""Object keys are deterministic."""

from datetime import UTC, datetime

from jimeng_tasks.domain.keys import media_key, upload_key
from jimeng_tasks.domain.task import TaskType

LATE = int(datetime(2026, 3, 9, 23, 59, 59, tzinfo=UTC).timestamp())


def test_a_media_key_holds_type_utc_day_task_and_index() -> None:
    assert media_key("jimeng", TaskType.VIDEO, "t-1", 0, "mp4", LATE) == "jimeng/video/2026/03/09/t-1/0.mp4"
    assert media_key("a/b", TaskType.IMAGE, "t-1", 3, "png", LATE + 1) == "a/b/image/2026/03/10/t-1/3.png"


def test_an_upload_key_is_the_content() -> None:
    assert upload_key("jimeng", "ab12", "png") == "jimeng/uploads/ab12.png"


def test_an_empty_prefix_adds_no_slash() -> None:
    assert upload_key("", "ab12", "png") == "uploads/ab12.png"
    assert media_key("", TaskType.IMAGE, "t", 0, "png", 0) == "image/1970/01/01/t/0.png"
