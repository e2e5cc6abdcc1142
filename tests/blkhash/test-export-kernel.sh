#!/bin/sh
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# From a transfer to the kernel: disks and files are copied through nbdkit with the
# filter, and the originals are removed.  blkhash export makes the trees of dm-verity and
# the digests of fs-verity from the manifests.  The kernel of a virtual machine then serves
# the copies verified.  Where a byte of a copy, of a tree or of a file was changed, it
# refuses that block, and no other.

. "$(dirname "$0")/../filter-functions.sh"
. "$abs_top_srcdir/tests/machine-functions.sh"
requires_no_sanitizer
requires_program mkfs.ext4
requires_machine veritysetup fsverity dmsetup
requires_nbdkit file

BLKHASH_SEED=${BLKHASH_SEED:-$(od -An -N 3 -t u4 /dev/urandom | tr -d ' ')}
export BLKHASH_SEED
echo "BLKHASH_SEED=$BLKHASH_SEED"
cd "$dir"

# ---- Copies ----

mkdir content
make_image content/image
for n in 1 2 3; do
  seq $n $((n * 70000)) > content/$n
done
truncate -s 12M tree.raw
run 0 mkfs.ext4 -q -b 4096 -d content tree.raw
"$PYTHON" - << 'END'
import os, random

rng = random.Random(int(os.environ["BLKHASH_SEED"]))
for name, blocks in ("random", 3000), ("long", 700):
    with open(name + ".raw", "wb") as f:
        f.truncate(blocks * 4096)
        for block in range(blocks):
            if block // 100 % 3 < 2:        # a third is holes
                f.seek(block * 4096)
                f.write(rng.randbytes(4096))
for size in 0, 1, 4096, 2**20 + 5:
    with open(f"{size}.raw", "wb") as f:
        f.write(rng.randbytes(size))
END

# copy_disk NAME SPEC out|into: NAME.raw becomes NAME.copy, with NAME.blkm.
copy_disk () {
  parameters="blkhash-digest=$2 blkhash-manifest=$1.blkm blkhash-file=$1.sum"
  if [ $3 = out ]; then
    run 0 nbdkit -U - -r --filter="$filter" file $1.raw $parameters \
          --run "nbdcopy \"\$uri\" $1.copy"
  else
    truncate -r $1.raw $1.copy
    run 0 nbdkit -U - --filter="$filter" file $1.copy $parameters \
          --run "nbdcopy $1.raw \"\$uri\""
  fi
  cmp $1.raw $1.copy || fail "$1 was not copied"
  rm $1.raw
}

copy_disk tree sha256/4k into
copy_disk random sha256/4k out
copy_disk long sha512/4k out
: > roots
for name in tree random long; do
  run 0 blkhash export --to verity manifest:$name.blkm $name.verity
  root=$(cat stdout)
  echo "$name $root" >> roots
  run 0 veritysetup verify $name.copy $name.verity $root
done

mkdir files
: > digests
for size in 0 1 4096 1048581; do
  copy_disk $size sha256/4k out
  run 0 blkhash export --to fsverity --image $size.copy manifest:$size.blkm
  echo "$(cat stdout) $size" >> digests
  mv $size.copy files/$size
done
# Without reading it: it has no short block.
run 0 blkhash export --to fsverity manifest:random.blkm
echo "$(cat stdout) random" >> digests
cp random.copy files/random
truncate -s 32M files.ext4
run 0 mkfs.ext4 -q -b 4096 -O verity -d files files.ext4

# The hash device of the first disk is that of the table.
run 0 blkhash export --to verity --output json manifest:tree.blkm table.verity
cmp tree.verity table.verity || fail "the tree is another one"
table=$(sed 's/.*"table":"//; s/".*//; s|DATA HASH|/dev/vda /dev/vdb|' stdout)

# ---- What the machine does, and what it should print ----

# The kernel prints at most ten of its messages in five seconds, so nine blocks of data
# are changed first; messages of other blocks are not compared.
echo "table='$table'" > script
cat >> script << 'END'
for queue in /sys/block/vd?/queue; do
  echo 0 > $queue/read_ahead_kb         # so that a read fails alone
done

# put DEVICE OFFSET OCTAL: writes a byte.
put () {
  printf "\\$3" | dd of=$1 bs=1 seek=$2 conv=notrunc,fsync status=none
}

# read_all FILE: prints how many blocks cannot be read, and the SHA-256 of all blocks,
# with zeros for these.  This dd is that of busybox: with status=none, that of coreutils
# does not report errors.
read_all () {
  sum=$(dd if=$1 bs=4k $direct conv=noerror,sync status=none 2> errors | sha256sum)
  echo "$(grep -c 'Input/output error' errors) of $1 fail: ${sum%% *}"
}

# serve DATA HASH ROOT
serve () {
  dmesg -c > /dev/null
  veritysetup open $1 disk $2 $3 || return
  direct=iflag=direct
  read_all /dev/mapper/disk
  direct=
  veritysetup close disk
  dmesg | sed -n 's/.*verity.* \(data block [0-9]*\) is corrupted.*/\1/p'
}
END
cat > plan.py << 'END'
import hashlib, os, random

rng = random.Random(int(os.environ["BLKHASH_SEED"]))
script, expected = open("script", "a"), open("expected", "w")

def read(name):
    with open(name, "rb") as f:
        return f.read()

def put(device, offset, old):
    """Change the byte, and return the command that restores it."""
    print(f"put {device} {offset} {old ^ 1 << rng.randrange(8):03o}", file=script)
    return f"put {device} {offset} {old:03o}"

def reads(name, content, bad=()):
    content = bytearray(content)
    content += bytes(-len(content) % 4096)
    for block in bad:
        content[block * 4096:(block + 1) * 4096] = bytes(4096)
    print(f"{len(bad)} of {name} fail: {hashlib.sha256(content).hexdigest()}",
          file=expected)

def serve(root, data, hashes, content, bad=()):
    print(f"serve {data} {hashes} {root}", file=script)
    reads("/dev/mapper/disk", content, bad)
    if len(bad) == 1:
        print(f"data block {bad[0]}", file=expected)

disks = []
for n, line in enumerate(open("roots")):
    name, root = line.split()
    disks.append((root, f"/dev/vd{'ace'[n]}", f"/dev/vd{'bdf'[n]}",
                  read(name + ".copy"), read(name + ".verity")))
# By the table in the JSON, the first disk is mounted.
print("""dmsetup create disk --readonly --table "$table" && dmsetup mknodes
mount -o ro /dev/mapper/disk /mnt
(cd /mnt && sha256sum image 1 2 3 && ls | wc -l); umount /mnt; dmsetup remove disk""",
      file=script)
for name in "image", "1", "2", "3":
    print(hashlib.sha256(read(f"content/{name}")).hexdigest(), "", name, file=expected)
print(len(os.listdir("content")) + 1, file=expected)
for root, data, hashes, content, _ in disks:
    serve(root, data, hashes, content)
    for _ in range(3):
        at = rng.randrange(len(content))
        restore = put(data, at, content[at])
        serve(root, data, hashes, content, [at // 4096])
        print(restore, file=script)
# The lowest level of a tree is its end.
for root, data, hashes, content, tree in disks:
    blocks = len(content) // 4096
    leaves = 4096 // (len(root) // 2)
    lowest = -(-blocks // leaves)
    block = rng.randrange(lowest)
    at = len(tree) - (lowest - block) * 4096 + rng.randrange(4096)
    restore = put(hashes, at, tree[at])
    bad = range(block * leaves, min((block + 1) * leaves, blocks))
    serve(root, data, hashes, content, bad)
    print(restore, file=script)
    serve(root, data, hashes, content)

# The files of fs-verity, and a block of each where it is in the file system.
print("mount /dev/vdg /mnt && cd /mnt", file=script)
sums, image, puts = [line.split() for line in open("digests")], read("files.ext4"), []
for digest, name in sums:
    print(f"fsverity enable {name} && fsverity measure {name}", file=script)
    print(digest, name, file=expected)
    content = read(f"files/{name}")
    if len(content) < 4096:
        continue
    while True:
        block = rng.randrange(len(content) // 4096)
        at = image.find(content[block * 4096:(block + 1) * 4096])
        if any(image[at:at + 4096]):
            break
    puts.append((name, content, block, at + rng.randrange(4096)))
for _, name in sums:
    print(f"read_all {name}", file=script)
    reads(name, read(f"files/{name}"))
print("cd / && umount /mnt", file=script)
for name, content, block, at in puts:
    put("/dev/vdg", at, image[at])
print("mount /dev/vdg /mnt && cd /mnt && dmesg -c > /dev/null", file=script)
for name, content, block, at in puts:
    print(f"fsverity measure {name} && read_all {name}", file=script)
    print(next(" ".join(line) for line in sums if line[1] == name), file=expected)
    reads(name, content, [block])
print("dmesg | grep -o 'inode.*FILE CORRUPTED' | sort -u | wc -l", file=script)
print(len(puts), file=expected)
print("cd / && umount /mnt", file=script)
END
run 0 "$PYTHON" plan.py

run_machine script tree.copy tree.verity random.copy random.verity long.copy long.verity \
            files.ext4
diff -u expected machine || fail "see above"
