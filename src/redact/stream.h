/* What the room's other files need of streams. */
#ifndef NACRE_REDACT_STREAM_H
#define NACRE_REDACT_STREAM_H

#include "redact/scan.h"

/* The stream hands on nothing and stops at the first secret, of which it says where it is. */
void stream_only_find(struct redact_stream *s, struct redact_found *ret);

#endif
