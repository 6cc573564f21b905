/* The version of program and library, and where an installed launcher lies. */
#ifndef NACRE_ENGINE_VERSION_H
#define NACRE_ENGINE_VERSION_H

#define NACRE_VERSION "0.1.0"

#ifndef NACRE_LAUNCHER
#define NACRE_LAUNCHER "/usr/local/libexec/nacre/nacre-launch"
#endif

#endif
