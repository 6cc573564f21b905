/*
 * Runs one command in the sandbox and shows what came of it.
 *
 *     cc run.c -lnacre -o run && ./run 'id -un; ls'
 *
 * It has 30 seconds. A second argument names the launcher, for a library that is not installed.
 */
#include <nacre.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    nacre_options options = NACRE_OPTIONS_INIT;
    nacre_run_options run_options = NACRE_RUN_OPTIONS_INIT;
    nacre_error error;
    nacre *n;
    nacre_result *result;

    if (argc < 2) {
        fprintf(stderr, "usage: run TEXT [LAUNCHER]\n");
        return 125;
    }
    options.launcher = argc > 2 ? argv[2] : NULL;
    run_options.timeout_ms = 30000;
    if (nacre_open(&options, &n, &error) < 0 ||
        nacre_run(n, argv[1], strlen(argv[1]), &run_options, &result, &error) < 0) {
        fprintf(stderr, "run: %s\n", error.message);
        return 125;
    }
    fputs(nacre_result_output(result, NACRE_STDOUT, NULL), stdout);
    fprintf(stderr, "%s%s\n", nacre_result_output(result, NACRE_STDERR, NULL),
            nacre_result_status_name(result));
    int status = nacre_result_exit_code(result);
    nacre_result_free(result);
    nacre_close(n);
    return status;
}
