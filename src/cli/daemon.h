/* What a daemon told of itself, for others than `nacre daemon`. */
#ifndef NACRE_CLI_DAEMON_H
#define NACRE_CLI_DAEMON_H

#include "base/json.h"
#include "serve/daemon.h"

void daemon_write_json(const struct daemon_figures *f, struct json *j);

#endif
