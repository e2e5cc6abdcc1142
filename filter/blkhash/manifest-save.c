/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The manifest file.  See manifest-save.h.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "../lib/manifest/manifest.h"
#include "blkhash-manifest.h"
#include "blkhash/manifest-save.h"
#include "blkhash/params.h"
#include "common/config-files.h"
#include "common/output-file.h"

/* Only the owner can read the manifest, because its leaves reveal whether the
 * disk has a given block.
 */
#define MODE 0600

static char *saving_path;       /* of the new file; set once */

/* ---- Start-up ---- */

/* A file that is damaged is not ours.  The whole file is read, but its sum is
 * not computed, because that could take long.  A file that cannot be examined
 * is, for instance, a manifest of a later version.
 */
static enum file_origin
examine_manifest (int fd, char *why)
{
  int err = manifest_validate (fd, why, OUTPUT_FILE_MAX_WHY);

  return err == 0 ? FILE_OURS : err == EBADMSG ? FILE_FOREIGN : FILE_UNEXAMINED;
}

static struct output_file file = {
  .param = "blkhash-manifest", .examine = examine_manifest,
  .what = "a manifest", .mode = MODE
};

int
manifest_open (bool create)
{
  if (!params.manifest)
    return 0;
  if (output_file_open (&file, params.manifest, create) == -1)
    return -1;
  if (!file.path)
    return 0;
  if (asprintf (&saving_path, "%s.blkhash-saving", file.path) == -1) {
    saving_path = NULL;
    nbdkit_error ("%s: %m", file.param);
    return -1;
  }
  return 0;
}

int
manifest_check (void)
{
  if (!file.path)
    return 0;
  if (config_files_check (file.param, saving_path) == -1)
    return -1;
  if (replacement_remove_leftover (saving_path) == -1) {
    nbdkit_error ("%s: cannot create %s for the new manifest: %m", file.param,
                  saving_path);
    return -1;
  }
  return output_file_check (&file);
}

int
manifest_old (void)
{
  struct stat st;

  return file.path && fstat (file.current, &st) == 0 && st.st_size > 0
    ? file.current : -1;
}

int
manifest_start (bool keep)
{
  if (!keep)
    return output_file_empty (&file);
  output_file_keep (&file);
  return 0;
}

void
manifest_stop (void)
{
  output_file_stop (&file);
  free (saving_path);
  saving_path = NULL;
}

/* ---- The new file ---- */

/* Protects the two variables below. */
static pthread_mutex_t saving_lock = PTHREAD_MUTEX_INITIALIZER;
static bool saving;             /* a thread owns NEW_FILE */
static pthread_cond_t not_saving = PTHREAD_COND_INITIALIZER;

/* Used only by the thread that owns it. */
static struct replacement new_file = { .fd = -1 };

static void
begin (void)
{
  SCOPED_LOCK (&saving_lock);

  while (saving)
    pthread_cond_wait (&not_saving, &saving_lock);
  saving = true;
}

void
manifest_end (void)
{
  replacement_close (&new_file);

  SCOPED_LOCK (&saving_lock);
  saving = false;
  pthread_cond_signal (&not_saving);
}

/* Fold the leaves, and write them.  Returns 0, or an errno value. */
static int
save (struct blkhash_leaves *l, unsigned char *md, unsigned *len)
{
  int err;

  new_file = output_file_new (&file, saving_path);
  if (replacement_remove_leftover (saving_path) == -1 ||
      replacement_open (&new_file) == -1)
    return errno;
  err = blkhash_leaves_save (l, new_file.fd, md, len);
  return err == 0 && replacement_sync (&new_file) == -1 ? errno : err;
}

int
manifest_fold (struct blkhash_leaves *l, unsigned char *md, unsigned *len,
               bool *saved)
{
  int err, fold_err;

  *saved = false;
  if (!params.manifest)
    return blkhash_leaves_fold (l, md, len);
  begin ();
  err = save (l, md, len);
  if (err == 0) {
    *saved = true;
    return 0;
  }
  manifest_end ();
  if (err == EBUSY || err == ENODATA)
    return err;

  /* If the file cannot be written, compute the sum without it. */
  fold_err = blkhash_leaves_fold (l, md, len);
  if (fold_err == 0)
    nbdkit_error ("%s: cannot write %s: %s", file.param, saving_path,
                  strerror (err));
  return fold_err;
}

/* ---- The manifest ---- */

void
manifest_move (void)
{
  output_file_move (&file, &new_file);
}

void
manifest_empty (void)
{
  output_file_write (&file, "");
}
