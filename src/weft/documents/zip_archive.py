"""Archives of documents: read with limits, and written with some members replaced."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo

from weft.documents.document import DocumentError

MAX_MEMBERS = 10_000
MAX_ARCHIVE_BYTES = 2**29  # unpacked
MAX_RATIO, MIN_BOMB_BYTES = 200, 2**26  # deflate reaches 1,000, but only with content that no document has
DAMAGE = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError, struct.error)


class ZipArchive(NamedTuple):
    """The members of an archive in their order, with their content."""

    members: Mapping[str, tuple[ZipInfo, bytes]]
    comment: bytes

    def read(self, name: str) -> bytes | None:
        """Return the content of a member; None if it does not exist."""
        return self.members[name][1] if name in self.members else None

    def replace(self, contents: Mapping[str, bytes]) -> bytes:
        """Return the archive with other contents of some members, in the same order and compression."""
        buffer = BytesIO()
        with ZipFile(buffer, "w") as archive:
            archive.comment = self.comment
            for name, (info, content) in self.members.items():
                archive.writestr(_copy_info(info), contents.get(name, content), info.compress_type)
        return buffer.getvalue()


def _copy_info(info: ZipInfo) -> ZipInfo:
    copy = ZipInfo(info.filename, info.date_time)
    copy.comment, copy.create_system = info.comment, info.create_system
    copy.external_attr, copy.internal_attr = info.external_attr, info.internal_attr
    return copy


def open_zip(content: bytes) -> ZipArchive:
    """Unpack an archive in memory; raise DocumentError if it is damaged, encrypted or too large."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            infos = archive.infolist()
            _check_size(infos, len(content))
            members = {info.filename: (info, archive.read(info)) for info in infos}
            return ZipArchive(members, archive.comment)
    except DAMAGE as error:
        raise DocumentError(f"is a damaged archive: {error}. Save the document again.") from None


def _check_size(infos: list[ZipInfo], packed: int) -> None:
    total = sum(info.file_size for info in infos)
    if len(infos) > MAX_MEMBERS or total > MAX_ARCHIVE_BYTES:
        raise DocumentError(
            f"is too large: {len(infos):,} members of {total:,} bytes "
            f"(up to {MAX_MEMBERS:,} and {MAX_ARCHIVE_BYTES:,} are possible). Split the document."
        )
    if total > max(MIN_BOMB_BYTES, MAX_RATIO * packed):
        raise DocumentError(f"unpacks {packed:,} bytes to {total:,}, which no document does. Save it again.")
    if len({info.filename for info in infos}) < len(infos):
        raise DocumentError("is a damaged archive: two members have the same name. Save the document again.")
    if any(info.flag_bits & 1 for info in infos):
        raise DocumentError("is encrypted. Save the document without a password.")
