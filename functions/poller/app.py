"""Lambda: the poller of one SERVICE_ID, invoked by its schedule and by kicks."""

from jimeng_tasks.bootstrap import poller_handler

handler = poller_handler()
