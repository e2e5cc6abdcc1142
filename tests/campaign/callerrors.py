# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The functions whose calls fail in test-call-faults.py: the families of its
report, and for each function the errors that its manual page lists.

Left out are errors that say what is not so, such as ENOENT of a file that is
there, and EPIPE, of which blksum dies as it should."""

import errno

SHORT = "short"                 # a short count instead of an error

_FAMILIES = {
    "memory": """
        malloc calloc realloc posix_memalign: ENOMEM""",
    "memory of libraries": """
        library_malloc: ENOMEM""",
    "threads": """
        pthread_create: EAGAIN""",
    "open": """
        open openat: EINTR EMFILE ENFILE ENOMEM EACCES
        fopen opendir: EMFILE ENOMEM EACCES
        mkostemp mkdir: EACCES ENOSPC
        eventfd pipe2: EMFILE ENFILE
        dup dup2: EINTR EMFILE
        fcntl: EAGAIN EINTR ENOLCK
        flock: EINTR ENOLCK EWOULDBLOCK""",
    "read": """
        read pread: EIO EINTR short
        preadv2: EIO EINTR EAGAIN EOPNOTSUPP short
        eventfd_read: EINTR
        __uflow readdir: EIO
        readlink: EIO EACCES""",
    "write": """
        write pwrite: EIO EINTR ENOSPC short
        eventfd_write: EINTR
        fputs putc puts printf fprintf fwrite fflush fclose: EIO ENOSPC
        close: EIO EINTR ENOSPC
        ftruncate: EIO EINTR EFBIG
        fsync fdatasync: EIO ENOSPC EDQUOT""",
    "names": """
        rename linkat: EIO ENOSPC EACCES
        renameat2: EIO ENOSPC EACCES EINVAL
        unlink access: EIO EACCES
        stat lstat: EACCES ENOMEM""",
    "status": """
        fstat: ENOMEM EOVERFLOW
        fstatfs: EINTR EIO ENOSYS
        lseek: EINVAL EOVERFLOW
        ioctl: EINVAL ENOTTY""",
    "map and advice": """
        mmap: ENOMEM EAGAIN ENODEV
        mincore: EAGAIN ENOMEM
        madvise: EAGAIN ENOMEM
        posix_fadvise: EINVAL ESPIPE""",
    "sockets": """
        socket socketpair: EMFILE ENFILE EACCES
        bind: EACCES EADDRINUSE
        listen: EADDRINUSE EOPNOTSUPP
        connect: EAGAIN ECONNREFUSED EINTR ETIMEDOUT
        send: ECONNRESET EINTR ENOMEM short
        recv: ECONNREFUSED EINTR ENOMEM short
        poll: EINTR ENOMEM""",
    "processes": """
        fork: EAGAIN ENOMEM
        execve: E2BIG EACCES ENOENT ENOMEM
        waitpid waitid: ECHILD EINTR
        setrlimit: EPERM
        getentropy: EIO ENOSYS""",
    "OpenSSL": """
        EVP_MD_CTX_new EVP_MD_fetch EVP_DigestInit_ex2 EVP_DigestUpdate
        EVP_DigestFinal_ex EVP_DigestFinalXOF: ENOMEM""",
    "libnbd": """
        nbd_add_meta_context nbd_aio_block_status
        nbd_aio_command_completed nbd_aio_connect_uri
        nbd_aio_disconnect nbd_aio_get_fd nbd_aio_is_connecting nbd_aio_is_dead
        nbd_aio_is_negotiating nbd_aio_is_ready nbd_aio_pread
        nbd_aio_pread_structured
        nbd_block_status nbd_can_meta_context nbd_can_multi_conn
        nbd_connect_socket nbd_connect_uri nbd_create nbd_get_block_size
        nbd_get_size nbd_opt_go nbd_opt_list_meta_context nbd_poll nbd_pread
        nbd_set_opt_mode nbd_set_request_structured_replies
        nbd_set_uri_allow_local_file nbd_set_uri_allow_transports: EIO""",
}


def _parse():
    family, errors = {}, {}
    for name, text in _FAMILIES.items():
        functions = []
        for word in text.split():
            if word.isupper() or word == SHORT:
                for function in functions[-group:]:
                    errors[function].append(word)
                continue
            if not functions or errors[functions[-1]]:
                group = 0
            group += 1
            word = word.rstrip(":")
            functions.append(word)
            family[word], errors[word] = name, []
    return family, errors


FAMILY, ERRORS = _parse()       # by function
FAMILIES = list(_FAMILIES)


def number(error):
    return 0 if error == SHORT else getattr(errno, error)
