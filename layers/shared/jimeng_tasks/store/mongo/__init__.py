"""The store on MongoDB. Nothing outside this package calls the driver.

* `claims`: what is there to do, and taking it
* `progress`: what the owner of a claim writes
* `requests`: new tasks, and results given out
* `upkeep`: servers, leases, clean-up
* `statistics`, `indexes`, `connection`
"""

from jimeng_tasks.domain.ports import TaskStore

from .claims import Claims
from .connection import connect
from .indexes import Indexes
from .progress import Progress
from .requests import Requests
from .statistics import Statistics
from .upkeep import Upkeep

__all__ = ["MongoTaskStore", "connect"]


class MongoTaskStore(Indexes, Requests, Claims, Progress, Upkeep, Statistics, TaskStore):
    """Keeps tasks, results and servers in MongoDB 6 or newer, as a replica set."""
