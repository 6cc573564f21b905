/* Paths below a directory's descriptor: no link is followed, nothing leads out (C5). */
#ifndef NACRE_CHANGES_BENEATH_H
#define NACRE_CHANGES_BENEATH_H

#include <stdbool.h>
#include <sys/stat.h>

/* Opens `path` below `dir` ("." is dir itself). A descriptor, or a negative errno. */
int beneath_open(int dir, const char *path, int flags);

/* Opens a regular file to read it, without a trace where that can be, and never waits. */
int beneath_open_file(int dir, const char *path);

/* The directory that holds a path's last part, kept for the next one, which is often its sibling.
 */
struct beneath {
    int root;    /* not ours to close */
    int parent;  /* -1: none yet */
    char *known; /* path of `parent` */
};
#define BENEATH_AT(fd)                                                                             \
    {                                                                                              \
        .root = (fd), .parent = -1                                                                 \
    }

/* Finds the parent of `path`; *ret_name points into it. 0 or a negative errno. */
int beneath_parent(struct beneath *b, const char *path, int *ret_parent, const char **ret_name);
int beneath_stat(struct beneath *b, const char *path, struct stat *ret);
void beneath_release(struct beneath *b);

/* A directory's names, sorted by nobody; `.` and `..` are left out. */
struct names {
    void *stream;
    unsigned char type; /* of the last one, as d_type */
    unsigned long inode;
};
int names_open(struct names *n, int dir); /* dir stays the caller's */
const char *names_next(struct names *n);
void names_close(struct names *n);

/* Removes a directory and all below it, whatever modes it has; one that is not there is removed. */
int beneath_remove(int dir, const char *name);

#endif
