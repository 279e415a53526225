"""The Lambda function of the routes for video tasks."""

from jimeng_tasks.bootstrap import api_handler

handler = api_handler("video")
