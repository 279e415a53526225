"""What lies outside the life cycle, held in memory: time, media, the object storage, metrics."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jimeng_tasks.domain.ports import ChunkReader, Clock, MediaSource, MediaStorage, MediaStream, Metrics
from jimeng_tasks.domain.provider import Picture

T0 = 1_800_000_000


class Killed(BaseException):
    """The process ends here: nothing after it runs, nothing is written any more."""


class ManualClock(Clock):
    """Stands still until somebody moves it."""

    def __init__(self, now: int = T0) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def advance(self, seconds: int) -> None:
        self._now += seconds


class ByteStream(MediaStream):
    """A file of a `BytesSource`, read in pieces of at most four bytes."""

    def __init__(self, url: str, data: bytes, on_read: Callable[[str], None]) -> None:
        is_video = url.endswith(".mp4")
        self.content_type = "video/mp4" if is_video else "image/png"
        self.extension = "mp4" if is_video else "png"
        self._url = url
        self._rest = data
        self._on_read = on_read

    def read(self, size: int = -1) -> bytes:
        self._on_read(self._url)
        size = 4 if size < 0 else min(size, 4)
        chunk, self._rest = self._rest[:size], self._rest[size:]
        return chunk


class BytesSource(MediaSource):
    """Every address answers with the bytes of `content`, unless ``troubles[url]`` holds an error to raise first."""

    def __init__(self) -> None:
        self.troubles: defaultdict[str, deque[BaseException]] = defaultdict(deque)
        self.on_read: Callable[[str], None] = lambda url: None

    @staticmethod
    def content(url: str) -> bytes:
        return f"bytes of {url}".encode()

    @contextmanager
    def open(self, url: str) -> Iterator[MediaStream]:
        self._fail(url)
        yield ByteStream(url, self.content(url), self.on_read)

    def read_picture(self, url: str) -> Picture:
        self._fail(url)
        return Picture(data=self.content(url), format="png", width=512, height=512)

    def check(self, url: str) -> None:
        self._fail(url)

    def _fail(self, url: str) -> None:
        if self.troubles[url]:
            raise self.troubles[url].popleft()


class DictStorage(MediaStorage):
    """Objects by key; ``troubles["t1/0.png"]`` holds errors to raise instead of storing that file."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[str, bytes]] = {}
        self.puts: Counter[str] = Counter()
        self.troubles: defaultdict[str, deque[BaseException]] = defaultdict(deque)

    def store(
        self, key: str, content_type: str, chunks: ChunkReader, on_progress: Callable[[], None] = lambda: None
    ) -> str:
        name = "/".join(key.split("/")[-2:])
        if self.troubles[name]:
            raise self.troubles[name].popleft()
        data = b""
        while piece := chunks.read(4):
            data += piece
            on_progress()
        self.objects[key] = (content_type, data)
        self.puts[key] += 1
        return self.address(key)

    @staticmethod
    def address(key: str) -> str:
        return f"https://cdn.example/{key}"


class CountingMetrics(Metrics):
    """Sums by name, whatever the dimensions."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.names_with_dimensions: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        self.totals[name] += int(value)
        self.names_with_dimensions.add((name, tuple(sorted(dimensions.items()))))

    def seconds(self, name: str, value: float, **dimensions: str) -> None:
        self.totals[name] += 1
        self.names_with_dimensions.add((name, tuple(sorted(dimensions.items()))))
