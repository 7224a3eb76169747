"""Makes the images that a power cut could have left, from a log of block writes.

The log is that of dm-log-writes. An image at a place of the log holds every write before the last
flush there, and of the writes behind it a random choice, 4 KiB at a time.

replay.py BASE LOG FIRST COUNT SEED IMAGE COMMAND: for COUNT random places of the log from byte
FIRST on, makes IMAGE and runs COMMAND with the place, a length of the log, as its last word. Prints
how many places, flushes and writes left out there were; ends with the first command that fails.
"""

import os
import random
import shutil
import struct
import subprocess
import sys

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4
PIECE = 4096


def entries(log):
    """Each entry as (end in the log, byte on the device, bytes on it, flags, place of the data)."""
    size = os.fstat(log.fileno()).st_size
    magic, version, count, sector = struct.unpack("<QQQI", log.read(28))
    assert magic == MAGIC and version == 1, "not a log of block writes"
    at = sector
    found = []
    for _ in range(count):
        log.seek(at)
        head = log.read(32)
        if len(head) < 32:
            break
        first, sectors, flags, _ = struct.unpack("<QQQQ", head)
        data = at + sector
        at = data if flags & DISCARD else data + sectors * sector
        if at > size:
            break
        found.append((at, first * sector, sectors * sector, flags, data))
    return found


def pieces(entry, log):
    """The bytes of a write in pieces, each with its place on the device."""
    _, first, length, flags, data = entry
    log.seek(data)
    content = bytes(length) if flags & DISCARD else log.read(length)
    for at in range(0, length, PIECE):
        yield first + at, content[at : at + PIECE]


def put(image, entry, log, chosen=lambda: True):
    left_out = 0
    for place, content in pieces(entry, log):
        if chosen():
            os.pwrite(image, content, place)
        else:
            left_out += 1
    return left_out


def main():
    base, log_name, first, count, seed, image_name, *command = sys.argv[1:]
    chance = random.Random(int(seed))
    log = open(log_name, "rb")
    found = entries(log)
    shown = [at for at, entry in enumerate(found) if entry[0] > int(first)]
    # How many writes no flush covers yet: where there are more of them, more can be left out.
    open_writes, count_open = [], 0
    for entry in found:
        count_open = 0 if entry[3] & FLUSH else count_open + 1
        open_writes.append(count_open)
    if not shown:
        sys.exit("the log holds nothing of the time in question")
    places = sorted(chance.choices(shown, [open_writes[at] ** 2 + 1 for at in shown], k=int(count)))
    synced_name = image_name + ".synced"
    shutil.copyfile(base, synced_name)
    synced = os.open(synced_name, os.O_RDWR)
    done, left_out = 0, 0
    for place in places:
        flushes = [at for at in range(done, place + 1) if found[at][3] & FLUSH]
        until = flushes[-1] if flushes else done
        for entry in found[done:until]:
            put(synced, entry, log)
        done = until
        subprocess.run(["cp", "--sparse=always", synced_name, image_name], check=True)
        image = os.open(image_name, os.O_RDWR)
        share = chance.choice([0.1, 0.5, 0.9])
        for entry in found[done : place + 1]:
            is_kept = entry[3] & FUA
            left_out += put(image, entry, log, lambda: is_kept or chance.random() < share)
        os.close(image)
        status = subprocess.run([*command, str(found[place][0])]).returncode
        if status != 0:
            sys.exit(f"seed {seed}, place {found[place][0]}: the command ended with {status}")
    flushes = sum(1 for entry in found if entry[3] & FLUSH)
    print(f"images {len(places)} entries {len(found)} flushes {flushes} pieces left out {left_out}")


main()
