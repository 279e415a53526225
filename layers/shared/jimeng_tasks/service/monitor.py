"""Use case: numbers for operators (the seed's TaskMonitor)."""

from dataclasses import dataclass

from jimeng_tasks.domain.ports import Clock, TaskStore
from jimeng_tasks.domain.statistics import TaskStats
from jimeng_tasks.domain.workload import Server


@dataclass(frozen=True, kw_only=True)
class TaskMonitor:
    """Reads counts and signs of life; changes nothing."""

    store: TaskStore
    clock: Clock

    def task_stats(self, server_id: str | None = None) -> TaskStats:
        """Tasks per status and more, of one service or of all (seed 6.1 getTaskStats)."""
        return self.store.stats(server_id, self.clock.now())

    def server_load(self, server_id: str) -> int:
        """Tasks of a service that are processing or polling (seed 6.1 getServerLoad)."""
        return self.store.stats(server_id, self.clock.now()).load_per_server.get(server_id, 0)

    def servers_online(self) -> list[Server]:
        """Services whose last heartbeat is recent."""
        now = self.clock.now()
        return [server for server in self.store.servers() if server.is_online(now)]
