"""The explicit index step: ``python -m jimeng_tasks.store`` with the deployment's environment."""

import json
import os
import sys

from jimeng_tasks.exceptions import JimengTasksError, SettingsError
from jimeng_tasks.settings import Settings

from .mongo import MongoTaskStore, connect


def main() -> int:
    """Create the missing indexes and print them as one JSON line; on an error print that and return 1."""
    try:
        settings = Settings.from_environ(os.environ)
        if not settings.mongodb_uri:
            raise SettingsError("MONGODB_URI is required to create indexes")
        with connect(settings.mongodb_uri) as client:
            created = MongoTaskStore(client, settings.mongodb_database).create_indexes()
    except JimengTasksError as error:
        sys.stderr.write(f"{error.name}: {error}\n")
        return 1
    sys.stdout.write(json.dumps({"database": settings.mongodb_database, "created": created}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
