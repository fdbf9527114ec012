"""Archives uploaded by clients: bounded, in a private folder, removed when unused.

A location is a file path below the folder, as Storm's locations are paths on its machine.
Locations sent by clients are looked up among the process's uploads, and never opened as paths.
"""

import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from heron_core.errors import shown
from heron_core.thrift.calls import AuthorizationException
from heron_io.private_files import make_private_folders, private

CHUNK_BYTES_MAX = 8 * 1024 * 1024
"""sparse sends 300 KiB at a time, Storm's own client as much."""
UNFINISHED_MAX = 16
"""Uploads at once: each has a file open."""
FINISHED_MAX = 100
"""Archives that stay for `sparse submit -R`."""
IDLE_SECS = 600.0
"""An upload without a chunk for so long was abandoned by its client."""
KEPT_SECS = 3600.0
"""Storm's nimbus.inbox.jar.expiration.secs: an archive is used again by `sparse submit -R`."""
DOWNLOAD_BYTES = 256 * 1024
"""A chunk of a download."""
DOWNLOADS_MAX = 16


@dataclass(slots=True)
class Upload:
    """A file being uploaded."""

    path: str
    used_at: float
    size: int = 0
    finished: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class Download:
    """How far a client has read an archive."""

    path: str
    used_at: float
    position: int = 0


class Uploads:
    """The uploads and downloads of all clients."""

    def __init__(self, folder: str, bytes_max: int, clock: Callable[[], float]) -> None:
        self._folder, self._bytes_max, self._clock = folder, bytes_max, clock
        self._uploads: dict[str, Upload] = {}
        self._downloads: dict[str, Download] = {}
        self._lock = threading.Lock()
        make_private_folders(folder)
        for left in os.scandir(folder):  # of a process that was killed
            os.unlink(left.path)

    def begin(self) -> str:
        """The location of a new upload."""
        self.sweep()
        with self._lock:
            if sum(not each.finished for each in self._uploads.values()) >= UNFINISHED_MAX:
                raise AuthorizationException(
                    f"{UNFINISHED_MAX} uploads are under way already: try again later"
                )
            path = os.path.join(self._folder, f"stormjar-{secrets.token_hex(16)}.jar")
            os.close(private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            self._uploads[path] = Upload(path, self._clock())
            return path

    def add(self, location: str, chunk: bytes) -> None:
        """Append a chunk; AuthorizationException for one too many, which ends the upload."""
        upload = self._upload(location)
        with upload.lock:
            if upload.finished:
                raise AuthorizationException(f"the upload {shown(location)} is finished")
            size = upload.size + len(chunk)
            if len(chunk) > CHUNK_BYTES_MAX or size > self._bytes_max:
                self._remove(upload)
                raise AuthorizationException(
                    f"an upload has at most {self._bytes_max:,} bytes, in chunks of at most"
                    f" {CHUNK_BYTES_MAX:,}: this one is removed; `heronpy nimbus --upload-max MB`"
                    " sets another limit"
                )
            with open(upload.path, "ab") as file:
                file.write(chunk)
            upload.size, upload.used_at = size, self._clock()

    def finish(self, location: str) -> None:
        """The upload is whole."""
        upload = self._upload(location)
        with upload.lock:
            upload.finished, upload.used_at = True, self._clock()

    def finished(self, location: str) -> str:
        """The file of a finished upload; AuthorizationException if there is none."""
        upload = self._upload(location)
        if not upload.finished:
            raise AuthorizationException(f"the upload {shown(location)} is not finished")
        upload.used_at = self._clock()
        return upload.path

    def begin_download(self, location: str) -> str:
        """The id of a download of an archive that was uploaded."""
        path = self.finished(location)
        with self._lock:
            while len(self._downloads) >= DOWNLOADS_MAX:
                oldest = min(self._downloads, key=lambda each: self._downloads[each].used_at)
                del self._downloads[oldest]
            number = secrets.token_hex(16)
            self._downloads[number] = Download(path, self._clock())
            return number

    def next_chunk(self, number: str) -> bytes:
        """The next bytes of a download; none at its end."""
        with self._lock:
            download = self._downloads.get(number)
            if download is None:
                raise AuthorizationException(f"there is no download {shown(number)}")
            with open(download.path, "rb") as file:
                file.seek(download.position)
                chunk = file.read(DOWNLOAD_BYTES)
            download.position, download.used_at = download.position + len(chunk), self._clock()
            if not chunk:
                del self._downloads[number]
            return chunk

    def sweep(self) -> None:
        """Remove what has been left."""
        now = self._clock()
        with self._lock:
            finished = sorted(
                (each for each in self._uploads.values() if each.finished),
                key=lambda each: -each.used_at,
            )
            left = finished[FINISHED_MAX:]
            left += [x for x in finished[:FINISHED_MAX] if now - x.used_at > KEPT_SECS]
            left += [
                x for x in self._uploads.values() if not x.finished and now - x.used_at > IDLE_SECS
            ]
        for upload in left:
            self._remove(upload)

    def close(self) -> None:
        """Remove all of them."""
        for upload in list(self._uploads.values()):
            self._remove(upload)

    def _upload(self, location: str | None) -> Upload:
        with self._lock:
            upload = self._uploads.get(location or "")
        if upload is None:
            raise AuthorizationException(
                f"there is no upload {shown(location)}: start an upload, or repeat the upload if"
                " Nimbus was started since"
            )
        return upload

    def _remove(self, upload: Upload) -> None:
        with self._lock:
            self._uploads.pop(upload.path, None)
            gone = [x for x, each in self._downloads.items() if each.path == upload.path]
            for number in gone:
                del self._downloads[number]
            if os.path.exists(upload.path):
                os.unlink(upload.path)
