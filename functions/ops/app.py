"""The Lambda function of the routes for operations."""

from jimeng_tasks.bootstrap import api_handler

handler = api_handler("ops")
