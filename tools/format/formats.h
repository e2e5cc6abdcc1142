/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Formats other than qcow2: check that the file of an image is complete, and
 * how much memory qemu needs for its tables.
 */

#ifndef BLKSUM_FORMATS_H
#define BLKSUM_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

/* ---- vdi ---- */

/* Check that all blocks of the image lie inside the file.  qemu reads blocks
 * outside of the file as zeros, and reports success.  Returns 0 and sets *SIZE
 * to the size of the disk in bytes, or returns -1 on error.
 */
int vdi_check (const struct imagefile *file, uint64_t *size,
               struct error *error);

/* ---- vhdx ---- */

struct vhdx {
  uint64_t size;                /* size of the disk in bytes, up to 64 TiB */
  uint64_t bat;                 /* offset of the BAT in the file */
  uint32_t block_size;          /* in bytes: a power of two, 1 MiB to 256 MiB */
  uint32_t chunk;               /* number of blocks in a chunk */
};

/* Parse the image into *VHDX.  Check that each present block lies inside the
 * file, and that no block is partially present or invalid.  qemu (7.2) refuses
 * a block outside the file with the error "Invalid argument", and reports a
 * partially present or invalid block only as a read error.  Returns 0, or -1 on
 * error.
 */
int vhdx_check (const struct imagefile *file, struct vhdx *vhdx,
                struct error *error);

/* Map OFFSET on the disk, which must be less than the size of the disk: set RUN
 * to the run that starts there, according to the table in PAGES and the parsed
 * VHDX.  The run does not pass the end of the disk.  A run of data that passes
 * the end of the file is an error.  Only one thread at a time may use PAGES.
 * Returns 0, or -1 on error.
 */
int vhdx_find_run (struct pages *pages, const struct vhdx *vhdx,
                   uint64_t offset, struct run *run, struct error *error);

/* ---- vmdk: a sparse image ---- */

/* Returns true if a file that begins with the 4 bytes HEAD is a sparse image
 * (magic "KDMV").  Other vmdk files are a text descriptor, whose data is in
 * other files, or an image of ESX.  The second function returns true if it is
 * one of the type vmfsSparse (magic "COWD").
 */
bool vmdk_is_sparse (const unsigned char *head);
bool vmdk_is_cowd (const unsigned char *head);

/* Refuse FILE, an image of ESX of the type TYPE.  Returns -1. */
int vmdk_refuse_esx (const struct imagefile *file, const char *type,
                     struct error *error);

/* Check that a sparse image has no parent, and no data in other files.  Returns
 * 0; or -1 if this is not true, or on another error.
 */
int vmdk_check_self_contained (const struct imagefile *file,
                               struct error *error);

/* Check that all grains of a sparse image are inside the file, because qemu
 * reads grains beyond the end of the file as zeros, without an error.  Refuse
 * compressed grains for which qemu would need too much memory.  Returns 0, or
 * -1 on error.
 */
int vmdk_check (const struct imagefile *file, struct error *error);

/* The same as vmdk_check.  Also stores in *MEMORY the number of bytes of memory
 * that qemu needs for the grain directories of the image.
 */
int vmdk_check_and_count (const struct imagefile *file, uint64_t *memory,
                          struct error *error);

/* ---- vmdk: the descriptor ---- */

/* A file that the descriptor names as an extent, as qemu parses it. */
struct vmdk_extent {
  char type[11];                /* FLAT, VMFS: raw (flat) data; others: a
                                 * vmdk */
  char name[512];               /* relative to the image's directory, or
                                 * absolute */
  uint64_t offset, size;        /* bytes; OFFSET is 0 unless TYPE is FLAT */
};

typedef int vmdk_extent_function (void *opaque,
                                  const struct vmdk_extent *extent,
                                  struct error *error);

/* Call FUNCTION for each extent that is another file.  It is not called for an
 * image that is its own extent.  Returns 0, or -1 on error.  It is an error if
 * FUNCTION returns -1, if qemu would omit an extent from the disk, or if the
 * descriptor ends with its extents, because then it is truncated.
 */
int vmdk_extents (const struct imagefile *file,
                  vmdk_extent_function *function, void *opaque,
                  struct error *error);

/* ---- vpc (VHD) ---- */

/* Returns -1 with an error if the image has a parent, which qemu would ignore
 * silently, or an unexpected type; if its blocks or their table are not in the
 * file; if the table is too large (see imagefile.h); or if the size of the disk
 * contradicts the other copy of the footer, or the size of a fixed image.
 * Otherwise returns 0, and sets *SIZE to the size of the disk in bytes.  *SIZE
 * is 0 for a file that is not a vpc image: that is left to qemu.  Sets *WARNING
 * if qemu by default reads a disk of another size.
 */
int vpc_check (const struct imagefile *file, uint64_t *size,
               struct error *warning, struct error *error);

#endif /* BLKSUM_FORMATS_H */
