/* What is in files: whether two are alike, and a hash of one. */
#ifndef NACRE_CHANGES_CONTENT_H
#define NACRE_CHANGES_CONTENT_H

#include <stdbool.h>

#include "base/sha256.h"

/* Reads no more than the data of both: what is a hole in both is alike. 1, 0, or negative errno. */
int content_equal(int a, int b);

/* Of a regular file, by descriptor. */
int content_hash(int fd, unsigned char ret[SHA256_BYTES]);

#endif
