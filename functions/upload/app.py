"""The Lambda function of the routes for uploads."""

from jimeng_tasks.bootstrap import api_handler

handler = api_handler("upload")
