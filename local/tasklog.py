"""The seed's `logs/task_polling.log` (section 6.2): one readable line for everything that a poller says."""

import logging
import traceback
from datetime import datetime
from pathlib import Path

from jimeng_tasks.observability import LOGGER
from jimeng_tasks.redaction import redact

FILE = "task_polling.log"
_STANDARD = logging.makeLogRecord({}).__dict__.keys()


class LineFormatter(logging.Formatter):
    """``[TaskPolling][yyyy-MM-dd HH:mm:ss.SSS] message key=value ...``, redacted, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, with its extra fields and any traceback."""
        time = datetime.fromtimestamp(record.created).isoformat(" ", "milliseconds")
        details = "".join(f" {name}={value}" for name, value in record.__dict__.items() if name not in _STANDARD)
        trouble = "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip() if record.exc_info else ""
        return redact(f"[TaskPolling][{time}] {record.getMessage()}{details}{trouble}")


def _is_news(record: logging.LogRecord) -> bool:
    """False for the summary of an invocation that found nothing to do: here there is one every second."""
    return not (hasattr(record, "stop_reason") and not getattr(record, "claimed", 0))


def write_task_log(directory: Path) -> None:
    """Append what pollers of this process log to ``directory``/task_polling.log, which is made if missing."""
    directory.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(directory / FILE, encoding="utf-8")
    handler.setFormatter(LineFormatter())
    handler.addFilter(_is_news)
    logging.getLogger(LOGGER).addHandler(handler)
